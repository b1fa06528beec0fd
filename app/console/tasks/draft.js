// The draft in the browser: what the server knows, and the edits on top of it that it has not acknowledged yet.
// An edit is applied here at once and sent again and again until it is acknowledged (`answer.py` does the same to the
// draft in the store). Edits are absolute, so one is undone by sending what was. What is not acknowledged, and what can
// be undone, survives a reload of the tab in session storage, which holds positions and codes but no text.

const RESEND_MS = 2500;
const STORED = "dialint-draft";
const MAX_UNDO = 200;

function applyEdit(state, event, own) {
  const choices = state.choices.map((choice) => ({ ...choice }));
  const said = { ...state.said };
  const choice = choices.find((each) => each.id === event.id);
  if (event.kind === "set" && choice) {
    Object.assign(choice, { state: event.state, code: event.code, severity: event.severity });
    choice.why = event.state === "rejected" ? event.why || "" : "";
  } else if (event.kind === "add" && !choice) {
    const { id, turn, start, end, code, severity } = event;
    choices.push({ id, turn, start, end, code, severity, state: "kept", own: true, suggested: false, why: "", quote: own(event), reason: "", proof: [], evidence: [] });
    said[code] = true;
  } else if (event.kind === "remove" && choice && choice.own) {
    choices.splice(choices.indexOf(choice), 1);
  } else if (event.kind === "say") {
    if (event.present === null) delete said[event.code];
    else said[event.code] = event.present;
    for (const each of [...choices]) {
      if (each.code !== event.code || event.present === null) continue;
      if (event.present && !each.own && !each.suggested) each.state = "kept";
      else if (!event.present && each.own) choices.splice(choices.indexOf(each), 1);
      else if (!event.present) each.state = "rejected";
    }
  }
  return { choices, said };
}

function inverseOf(before, after) {
  const edits = [];
  for (const now of after.choices) if (!before.choices.some((was) => was.id === now.id)) edits.push({ kind: "remove", id: now.id });
  const codes = new Set([...Object.keys(before.said), ...Object.keys(after.said)]);
  for (const code of codes) {
    if (before.said[code] !== after.said[code]) edits.push({ kind: "say", code, present: before.said[code] ?? null });
  }
  for (const was of before.choices) {
    const now = after.choices.find((each) => each.id === was.id);
    const { id, turn, start, end, code, severity } = was;
    if (!now) edits.push({ kind: "add", id, turn, start, end, code, severity });
    else if (["state", "code", "severity", "why"].some((name) => was[name] !== now[name])) {
      edits.push({ kind: "set", id, state: was.state, code, severity, why: was.why });
    }
  }
  return edits;
}

class Draft {
  // `send` gives a log to the server; `changed` is called after each change of the state.
  constructor(send, changed, quoteOf) {
    Object.assign(this, { send, changed, quoteOf, key: null, base: null, pending: [], seq: 0, sentAt: 0, messages: 0, undoStack: [], busy: false });
    this.tab = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.timer = setInterval(() => this.resend(), 500);
  }

  receive(data) {
    if (data.draft !== this.key) {
      Object.assign(this, { key: data.draft, pending: [], seq: 0, undoStack: [], busy: false, sentAt: 0 });
      this.restore();
    }
    this.base = { choices: data.choices, said: data.said };
    const acknowledged = data.applied[this.tab] || 0;
    const last = this.pending.length ? this.pending[this.pending.length - 1].seq : 0;
    this.pending = this.pending.filter((event) => event.seq > acknowledged);
    this.seq = Math.max(this.seq, acknowledged);
    if (last && last <= acknowledged) this.busy = false;
    this.sentAt = 0;
    this.store();
    this.rebuild();
    if (this.pending.length) this.flush();
  }

  // After a reload: what can be undone, and the events that the tab had not got acknowledged, under the name that the
  // tab had; without such events it has a new name, as a duplicate of a tab has the same storage.
  restore() {
    try {
      const stored = JSON.parse(sessionStorage.getItem(STORED) || "null");
      if (!stored || stored.draft !== this.key) return;
      this.undoStack = stored.undo || [];
      if (!stored.events.length) return;
      this.tab = stored.tab;
      this.pending = stored.events;
      this.seq = Math.max(...stored.events.map((event) => event.seq));
    } catch { /* no session storage: nothing to restore */ }
  }

  store() {
    try {
      const { tab, key: draft, pending: events, undoStack: undo } = this;
      if (events.length || undo.length) sessionStorage.setItem(STORED, JSON.stringify({ tab, draft, events, undo }));
      else sessionStorage.removeItem(STORED);
    } catch { /* nowhere to store it */ }
  }

  rebuild() {
    this.state = this.pending.reduce((state, event) => applyEdit(state, event, this.quoteOf), this.base);
  }

  // Applies edits as one step that can be undone, and sends them.
  edit(edits, { undoable = true } = {}) {
    if (this.busy || !edits.length) return;
    const before = this.state;
    for (const edit of edits) this.pending.push({ ...edit, seq: ++this.seq });
    this.rebuild();
    if (undoable) this.undoStack.push({ edits: inverseOf(before, this.state), at: edits[0].id ?? edits[0].code });
    if (this.undoStack.length > MAX_UNDO) this.undoStack.shift();
    this.flush();
    this.changed();
  }

  undo() {
    const last = this.undoStack.pop();
    if (last) this.edit(last.edits, { undoable: false });
    return last ? last.at : null;
  }

  // An action ends the work on this item until the server answers: no key meant for it may reach the next one.
  act(action, { blocks = true } = {}) {
    if (this.busy) return;
    this.pending.push({ ...action, seq: ++this.seq });
    this.busy = blocks;
    this.flush(true);
    this.changed();
  }

  flush(atOnce) {
    this.store();
    if (this.sentAt && !atOnce) return; // the answer brings the next batch on its way
    this.sentAt = performance.now();
    // Numbered, as the server hears of a value only where it differs from the last one: the same events sent again
    // after a message that came to nothing would be passed over for ever.
    this.send({ tab: this.tab, draft: this.key, events: this.pending, message: ++this.messages });
  }

  resend() {
    if (this.pending.length && performance.now() - this.sentAt > RESEND_MS) {
      this.sentAt = 0;
      this.flush();
    }
  }

  close() {
    clearInterval(this.timer);
  }
}
