import type { ToStringOptions } from "yaml";

/** How a manifest is written, so that what is not ours stays as it is. */
export function styleOf(manifest: string): ToStringOptions {
  return {
    lineWidth: 0,
    indentSeq: !/^( *)[^\s#-][^\n]*:\n+(?:\s*#[^\n]*\n)*\1- /m.test(manifest),
    flowCollectionPadding: count(manifest, /[[{] /g) > count(manifest, /[[{][^ \n\]}]/g),
  };
}

function count(text: string, form: RegExp): number {
  return text.match(form)?.length ?? 0;
}
