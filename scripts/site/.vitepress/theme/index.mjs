import { useRoute, withBase } from "vitepress";
import DefaultTheme from "vitepress/theme";
import { nextTick, onMounted, watch } from "vue";
import "./wide.css";

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute();
    onMounted(draw);
    watch(() => route.path, draw);
  },
};

/** Diagrams are drawn in the browser, by a program that only pages with diagrams load. */
async function draw() {
  await nextTick();
  if (document.querySelector("pre.mermaid") === null) return;
  if (globalThis.mermaid === undefined) await load(withBase("/mermaid.js"));
  const isDark = document.documentElement.classList.contains("dark");
  globalThis.mermaid.initialize({ startOnLoad: false, theme: isDark ? "dark" : "default" });
  await globalThis.mermaid.run();
}

function load(src) {
  return new Promise((resolve, reject) => {
    document.head.append(Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject }));
  });
}
