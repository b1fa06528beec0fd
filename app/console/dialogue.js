// Renders a dialogue and reports the words selected in one turn, in code points of the rendered text.
// Everything that comes from a dialogue goes in by textContent or as a data attribute, never as markup.

const NAMES = { customer: "Customer", agent: "Agent", bot: "Bot", system: "System", tool: "Tool result" };
const UNSEEN = "not seen by the customer";

function element(kind, className, text) {
  const node = document.createElement(kind);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
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
  const item = element("li", "dialint-turn dialint-" + turn.role + (turn.in_question ? " dialint-in-question" : ""));
  item.dataset.turn = turn.index;
  item.dataset.from = turn.from;
  const part = turn.part ? "  (a part, from character " + turn.from + ")" : "";
  const head = element("div", "dialint-head", turn.index + "  " + (NAMES[turn.role] || turn.role) + part);
  if (turn.in_question) head.append(element("strong", "", "  this turn is asked about"));
  const text = element("div", "dialint-text");
  text.dir = "auto";
  if (turn.selectable) text.dataset.selectable = "yes";
  for (const piece of turn.pieces) text.append(...pieceOf(piece));
  item.append(head);
  for (const call of turn.calls) item.append(folded("Tool call, " + UNSEEN, element("div", "dialint-call", call)));
  if (turn.unseen) item.append(folded(UNSEEN, text));
  else if (turn.pieces.some((piece) => piece.text) || !turn.calls.length) item.append(text);
  return item;
}

function folded(title, content) {
  const details = element("details", "dialint-folded");
  details.append(element("summary", "", title), content);
  return details;
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
  const rendered = JSON.stringify(data);
  if (list.rendered !== rendered) {
    const last = list.rendered ? JSON.parse(list.rendered) : { number: null, focus: null };
    const top = list.scrollTop;
    list.replaceChildren(...data.turns.map(turnOf));
    list.scrollTop = data.number === last.number && data.page === last.page ? top : 0;
    if (data.number !== last.number) {
      const page = list.closest('[data-testid="stMain"]'); // still where the last answer was saved
      if (page) page.scrollTop = 0;
    }
    const moved = data.focus !== last.focus || data.number !== last.number || data.page !== last.page;
    if (data.focus !== null && moved) {
      const turn = list.querySelector('[data-turn="' + Number(data.focus) + '"]');
      if (turn) {
        // with the turn before it, if that is short: the first visible heading is never cut at the edge
        const before = turn.previousElementSibling;
        const first = before && before.offsetHeight < list.clientHeight / 3 ? before : turn;
        const padding = parseFloat(getComputedStyle(list).paddingTop) + list.clientTop;
        list.scrollTop = first.offsetTop - list.offsetTop - padding;
      }
    }
    list.rendered = rendered;
    list.reported = "";
  }
  const report = () => {
    const selected = selectedIn(list);
    const reported = JSON.stringify(selected);
    if (selected && reported !== list.reported) {
      list.reported = reported;
      setTriggerValue("selected", selected);
    }
  };
  const schedule = () => setTimeout(report, 0); // the selection is settled after the event
  document.addEventListener("pointerup", schedule);
  document.addEventListener("keyup", schedule);
  return () => {
    document.removeEventListener("pointerup", schedule);
    document.removeEventListener("keyup", schedule);
  };
}
