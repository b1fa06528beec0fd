// Narrows the list of findings by severity, code, agent and words. Without scripts the whole list is shown.
const list = [...document.querySelectorAll(".finding")];
const bar = document.querySelector(".filters");
const count = document.querySelector(".count");
const fields = [...bar.querySelectorAll("select, input")];
const words = new Map(list.map((item) => [item, item.textContent.toLowerCase()]));

function matches(item) {
  return fields.every((field) => {
    const wanted = field.value.trim();
    if (!wanted) return true;
    return field.name === "words" ? words.get(item).includes(wanted.toLowerCase()) : item.dataset[field.name] === wanted;
  });
}

function filter() {
  let n = 0;
  for (const item of list) {
    item.hidden = !matches(item);
    n += Number(!item.hidden);
  }
  count.textContent = n === list.length ? "" : n + " of " + list.length + " shown";
}

for (const field of fields) field.addEventListener("input", filter);
bar.hidden = false;
filter();
