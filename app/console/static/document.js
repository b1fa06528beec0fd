// The language of the page, for screen readers and hyphenation: the console says it in an element of its own.
new MutationObserver(() => {
  const language = document.querySelector(".dialint-language")?.lang;
  if (language && document.documentElement.lang !== language) document.documentElement.lang = language;
}).observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["lang"] });
