// Hands the book to the workspace.
export default function ({ data, parentElement }) {
  window.dialintBooks = { [data.name]: data.book };
  parentElement.closest(".stElementContainer")?.classList.add("dialint-hidden");
  window.dispatchEvent(new Event("dialint-book"));
}
