// Functions that draw the turns of a dialogue and read the words selected in one, in code points of the rendered text.
// `dialogue.js` and the workspace's files are put behind this file: components have no imports.
// Everything that comes from a dialogue goes in by textContent or as a data attribute, never as markup.

const SHORT = 160; // characters of a call or a result that are not folded

function element(kind, className, text) {
  const node = document.createElement(kind);
  if (className) node.className = className;
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
  return [made, ...piece.ends.map(badgeOf)];
}

function badgeOf({ label, state, id }) {
  const badge = element("span", "dialint-badge dialint-badge-" + state);
  badge.dataset.label = label; // drawn by CSS, so that it is no part of the text that is selected
  badge.setAttribute("role", "note");
  badge.setAttribute("aria-label", label);
  if (id) badge.dataset.id = id;
  return badge;
}

// Whether a turn has calls alone: what is selected there is calls, by their numbers, and no words.
function isSilent(turn) {
  return turn.calls.length > 0 && !turn.pieces.some((piece) => piece.text.trim());
}

function turnOf(turn, say) {
  const item = element("li", "dialint-turn dialint-" + turn.role + (turn.in_question ? " dialint-in-question" : ""));
  item.dataset.turn = turn.index;
  item.dataset.from = turn.from;
  const part = turn.part ? "  (" + say.part.replace("{n}", turn.from) + ")" : "";
  const head = element("div", "dialint-head", turn.index + "  " + (say.roles[turn.role] || turn.role) + part);
  if (turn.in_question) head.append(element("strong", "", "  " + say.asked));
  const text = element("div", "dialint-text");
  text.dir = "auto";
  if (turn.selectable) text.dataset.selectable = "yes";
  for (const piece of turn.pieces) text.append(...pieceOf(piece));
  item.append(head);
  turn.calls.forEach((call, n) => {
    const made = element("div", "dialint-call", call);
    if (turn.selectable && isSilent(turn)) made.dataset.call = n;
    item.append(unseenOf(say.call + ", " + say.unseen, call, made), ...(turn.call_marks[n] ?? []).map(badgeOf));
  });
  if (turn.unseen) item.append(unseenOf(say.unseen, turn.pieces.map((piece) => piece.text).join(""), text));
  else if (turn.pieces.some((piece) => piece.text) || !turn.calls.length) item.append(text);
  return item;
}

// A call or a result, which the customer did not see: shown if it is short, else folded with its first line visible.
function unseenOf(title, plain, content) {
  const label = element("span", "dialint-label", title);
  if (plain.length <= SHORT) {
    const box = element("div", "dialint-folded");
    box.append(label, content);
    return box;
  }
  const details = folded("", content);
  details.firstChild.append(label, element("span", "dialint-first-line", plain.slice(0, SHORT)));
  return details;
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
      const { turn, from } = text.closest("[data-turn]").dataset;
      return end > start ? { turn: Number(turn), start: start + Number(from), end: end + Number(from) } : null;
    }
  }
  for (const call of list.querySelectorAll("[data-call]")) {
    if (call.contains(range.startContainer) && call.contains(range.endContainer)) {
      const n = Number(call.dataset.call);
      return { turn: Number(call.closest("[data-turn]").dataset.turn), start: n, end: n + 1 };
    }
  }
  return null;
}
