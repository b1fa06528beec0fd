// Marks over the text of a turn, and the selection of words by keyboard: positions are code points of the turn.

const SYMBOLS = { open: "?", suggested: "…", kept: "✓", rejected: "✗", selected: "" };

// The pieces of a turn, split where marks begin and end, as `dialogue_view._split` does it.
function overlay(turn, marks) {
  const near = marks.filter((mark) => mark.turn === turn.index && mark.end > turn.from);
  if (!near.length) return turn.pieces.map((piece) => ({ ...piece, states: [], ends: [] }));
  const pieces = [];
  let at = turn.from;
  for (const piece of turn.pieces) {
    const chars = Array.from(piece.text);
    const last = at + chars.length;
    const cuts = new Set([at, last]);
    for (const mark of near) for (const edge of [mark.start, mark.end]) if (edge > at && edge < last) cuts.add(edge);
    const edges = [...cuts].sort((a, b) => a - b);
    for (let n = 0; n + 1 < edges.length; n++) {
      const [start, end] = [edges[n], edges[n + 1]];
      const over = near.filter((mark) => mark.start <= start && end <= mark.end);
      pieces.push({
        text: chars.slice(start - at, end - at).join(""), name: piece.name,
        states: [...new Set(over.map((mark) => mark.state + (mark.active ? " dialint-active" : "")))],
        ends: over.filter((mark) => mark.end === end && mark.label).map(({ label, state, id }) => ({ label, state, id })),
      });
    }
    at = last;
  }
  return pieces;
}

function textOf(turn) {
  return turn.pieces.map((piece) => piece.text).join("");
}

// What stands at [start, end) of a turn: words, or calls where there are no words.
function quoteIn(turn, start, end) {
  if (isSilent(turn)) return turn.calls.slice(start, end).join("\n");
  return Array.from(textOf(turn)).slice(start - turn.from, end - turn.from).join("");
}

// [start, end) of each word of a turn, or of each call where there are no words.
function wordsOf(turn) {
  if (isSilent(turn)) return turn.calls.map((_, n) => [n, n + 1]);
  const text = textOf(turn);
  const words = [];
  let at = turn.from;
  if (typeof Intl !== "undefined" && Intl.Segmenter) {
    for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
      const length = Array.from(segment).length;
      if (isWordLike) words.push([at, at + length]);
      at += length;
    }
  } else {
    for (const part of text.split(/(\s+)/)) {
      const length = Array.from(part).length;
      if (part.trim()) words.push([at, at + length]);
      at += length;
    }
  }
  return words;
}

class WordCursor {
  // Selects in one of `turns`: the whole turn at first, then word by word.
  constructor(turns, first) {
    this.turns = turns;
    this.enter(Math.max(0, turns.findIndex((turn) => turn.index === first)));
  }

  enter(position) {
    this.position = position;
    this.turn = this.turns[position];
    this.words = wordsOf(this.turn);
    this.anchor = this.last = null;
  }

  get range() {
    if (this.last === null || !this.words.length) {
      const length = isSilent(this.turn) ? this.turn.calls.length : Array.from(textOf(this.turn)).length;
      return { turn: this.turn.index, start: this.turn.from, end: this.turn.from + length };
    }
    const [a, b] = [Math.min(this.anchor, this.last), Math.max(this.anchor, this.last)];
    return { turn: this.turn.index, start: this.words[a][0], end: this.words[b][1] };
  }

  // Moves by a key; whether the key means something here.
  move(event) {
    const n = this.words.length;
    const to = (index) => {
      if (!n) return;
      this.last = Math.min(n - 1, Math.max(0, index));
      if (!event.shiftKey || this.anchor === null) this.anchor = this.last;
    };
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      this.enter(Math.min(this.turns.length - 1, Math.max(0, this.position + (event.key === "ArrowUp" ? -1 : 1))));
    } else if (event.key === "ArrowRight") to(this.last === null ? 0 : this.last + 1);
    else if (event.key === "ArrowLeft") to(this.last === null ? n - 1 : this.last - 1);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(n - 1);
    else if (event.key.length === 1 && /\p{L}/u.test(event.key)) {
      const begins = (index) => quoteIn(this.turn, ...this.words[index]).toLowerCase().startsWith(event.key.toLowerCase());
      const from = this.last === null ? -1 : this.last;
      for (let step = 1; step <= n; step++) if (begins((from + step + n) % n)) { to((from + step + n) % n); break; }
    } else return false;
    return true;
  }
}
