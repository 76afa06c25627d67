/** The address of the documents: neither the npm package nor the image has them. */
export const documents = "https://github.com/countersign/countersign/blob/main/docs";
