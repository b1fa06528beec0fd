// Draws a dialogue and says which words of one turn were selected, in code points of the shown text.
// Everything that comes from a dialogue goes in by textContent or as a data attribute, never as markup.

const NAMES = { customer: "Customer", agent: "Agent", bot: "Bot", system: "System" };

function element(kind, className, text) {
  const made = document.createElement(kind);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function pieceOf(piece) {
  const states = piece.states.map((state) => "dialint-" + state).join(" ");
  const made = piece.states.length ? element("mark", states, piece.text) : element("span", "", piece.text);
  if (piece.name) {
    made.classList.add("dialint-unseen");
    made.dataset.label = piece.name; // drawn by CSS in the place of the character
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", "character " + piece.name);
  }
  const badges = piece.ends.map((end) => {
    const badge = element("span", "dialint-badge dialint-badge-" + end.state);
    badge.dataset.label = end.label; // drawn by CSS, so that it is no part of the text that is selected
    badge.setAttribute("role", "note");
    badge.setAttribute("aria-label", end.label);
    return badge;
  });
  return [made, ...badges];
}

function turnOf(turn) {
  const made = element("li", "dialint-turn dialint-" + turn.role + (turn.asked ? " dialint-asked" : ""));
  made.dataset.turn = turn.index;
  made.dataset.from = turn.from;
  const part = turn.part ? "  (a part, from character " + turn.from + ")" : "";
  const head = element("div", "dialint-head", turn.index + "  " + (NAMES[turn.role] || turn.role) + part);
  if (turn.asked) head.append(element("strong", "", "  this turn is asked about"));
  const text = element("div", "dialint-text");
  text.dir = "auto";
  if (turn.selectable) text.dataset.selectable = "yes";
  for (const piece of turn.pieces) text.append(...pieceOf(piece));
  made.append(head, text);
  return made;
}

function codePoints(from, node, offset) {
  const range = document.createRange();
  range.selectNodeContents(from);
  range.setEnd(node, offset);
  return Array.from(range.toString()).length;
}

function selectedIn(list) {
  const selection = window.getSelection();
  if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  for (const text of list.querySelectorAll("[data-selectable]")) {
    if (text.contains(range.startContainer) && text.contains(range.endContainer)) {
      const start = codePoints(text, range.startContainer, range.startOffset);
      const end = codePoints(text, range.endContainer, range.endOffset);
      const { turn, from } = text.parentElement.dataset;
      return end > start ? { turn: Number(turn), start: start + Number(from), end: end + Number(from) } : null;
    }
  }
  return null;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const list = parentElement.querySelector(".dialint-turns");
  const shown = JSON.stringify(data);
  if (list.shown !== shown) {
    const before = list.shown ? JSON.parse(list.shown) : { shown: null, focus: null };
    const top = list.scrollTop;
    list.replaceChildren(...data.turns.map(turnOf));
    list.scrollTop = data.shown === before.shown && data.page === before.page ? top : 0;
    if (data.shown !== before.shown) {
      const page = list.closest('[data-testid="stMain"]'); // it stands where the last answer was saved
      if (page) page.scrollTop = 0;
    }
    const moved = data.focus !== before.focus || data.shown !== before.shown || data.page !== before.page;
    if (data.focus !== null && moved) {
      const turn = list.querySelector('[data-turn="' + Number(data.focus) + '"]');
      if (turn) list.scrollTop = turn.offsetTop - list.offsetTop - 60;
    }
    list.shown = shown;
    list.said = "";
  }
  const tell = () => {
    const place = selectedIn(list);
    const said = JSON.stringify(place);
    if (place && said !== list.said) {
      list.said = said;
      setTriggerValue("selected", place);
    }
  };
  const later = () => setTimeout(tell, 0); // the selection is settled after the event
  document.addEventListener("pointerup", later);
  document.addEventListener("keyup", later);
  return () => {
    document.removeEventListener("pointerup", later);
    document.removeEventListener("keyup", later);
  };
}
