// The language of the page, which the console names in an element of its own with Streamlit's few texts in it: the
// document is marked with it for screen readers, and those texts are replaced.
const originals = new WeakMap(); // of a node or an element: what Streamlit wrote, and what stands there now
const ATTRIBUTES = ["aria-label", "placeholder", "title"];
const PLACES =
  '[data-testid="stFileUploaderDropzone"], [data-testid="stFileUploaderFile"], [data-testid="stSkipToContent"]';
let isDue = false;

function translated(text, words) {
  if (text in words) return words[text];
  return text.replace("per file", words["per file"] ?? "per file");
}

function replace(owner, key, text, words, write) {
  const known = originals.get(owner)?.[key];
  const original = known && known.now === text ? known.original : text;
  const now = translated(original, words);
  originals.set(owner, { ...originals.get(owner), [key]: { original, now } });
  if (now !== text) write(now);
}

function apply() {
  isDue = false;
  const place = document.querySelector(".dialint-language");
  if (!place) return;
  if (document.documentElement.lang !== place.lang) document.documentElement.lang = place.lang;
  const words = JSON.parse(place.dataset.words ?? "{}");
  for (const element of document.querySelectorAll(PLACES)) {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      replace(node, "text", node.data, words, (now) => (node.data = now));
    }
  }
  for (const name of ATTRIBUTES) {
    for (const element of document.querySelectorAll("[" + name + "]")) {
      replace(element, name, element.getAttribute(name), words, (now) => element.setAttribute(name, now));
    }
  }
}

new MutationObserver(() => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(apply);
}).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["lang", "data-words"] });
