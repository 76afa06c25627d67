/**
 * playwright-core's types name these types of the DOM, and no test touches their members. The DOM library itself would
 * also declare a `document` and a `window`, which Node.js does not have, for all of src/.
 */
type Node = object;
type HTMLElement = object;
type SVGElement = object;
type HTMLElementTagNameMap = object;
