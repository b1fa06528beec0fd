// The workspace of the pages Review and Label: a dialogue with its map, cards beside it, keys for everything.
// Decisions are applied here at once (`draft.js`); the server stores them and answers with what it has.

const PLAIN_FIELDS = "input, textarea, select, [contenteditable='true'], [role='combobox'], [role='listbox']";

function keyOf(event) {
  let key = event.key;
  if (key.length === 1 && !/[\x21-\x7e]/.test(key)) { // another layout: the key's place says which it is
    if (/^Key[A-Z]$/.test(event.code)) key = event.code.slice(3);
    else if (/^Digit\d$/.test(event.code)) key = event.code.slice(5);
  }
  if (!/^[a-zA-Z]$/.test(key)) return key;
  return event.shiftKey ? "Shift+" + key.toUpperCase() : key.toLowerCase();
}

// Whether Enter means to go on without a reason: not on a button of the keyboard's focus, but for the one that rejected.
function isForNoReason(target) {
  const held = target.closest("button");
  return !held || held.dataset.do === "rejected";
}

class Workspace {
  constructor(root) {
    this.root = root;
    this.active = null;
    this.asking = null; // the rejected finding whose reason may be given
    this.tool = null;
    this.cursor = null; // selection by keyboard
    this.selection = null;
    this.explains = false;
    this.shown = {};
    this.unfolded = new Set(); // clauses and sources
    this.draft = new Draft((log) => this.component.setStateValue("log", log), () => this.draw(), (place) => this.quote(place));
    const find = (name) => root.querySelector(".dialint-" + name);
    Object.assign(this, { list: find("turns"), map: find("map"), bar: find("bar"), top: find("top"), cards: find("cards"), tools: find("tools"), foot: find("foot"), live: find("live") });
    this.onKey = (event) => this.key(event);
    this.onPointer = () => setTimeout(() => this.readSelection(), 0); // the selection is settled after the event
    this.onSize = () => { this.fit(); this.drawMap(); };
    window.addEventListener("keydown", this.onKey, true);
    document.addEventListener("pointerup", this.onPointer);
    document.addEventListener("keyup", this.onPointer);
    window.addEventListener("resize", this.onSize);
    window.addEventListener("dialint-book", this.onBook = () => this.component && this.update(this.component));
    this.list.addEventListener("scroll", () => this.drawThumb(), { passive: true });
    this.sizes = new ResizeObserver(this.onSize);
    this.sizes.observe(root.parentElement);
    this.timer = setInterval(() => { if (!root.isConnected) this.close(); else this.fit(); }, 1000);
  }

  close() {
    window.removeEventListener("keydown", this.onKey, true);
    document.removeEventListener("pointerup", this.onPointer);
    document.removeEventListener("keyup", this.onPointer);
    window.removeEventListener("resize", this.onSize);
    window.removeEventListener("dialint-book", this.onBook);
    this.sizes.disconnect();
    this.draft.close();
    clearInterval(this.timer);
  }

  // ---- what the server says

  update(component) {
    this.component = component;
    const { data } = component;
    const book = (window.dialintBooks || {})[data.book];
    if (!book) return; // it is on its way
    const isNew = !this.data || this.data.draft !== data.draft;
    const turned = isNew || this.data.book !== data.book;
    this.data = { ...book.fixed, ...data };
    if (turned) this.takeBook(book);
    this.draft.receive(data);
    if (isNew) {
      Object.assign(this, { asking: null, undone: null });
      this.clearSelection();
      this.unfolded.clear();
      this.openTool(null);
      this.list.scrollTop = 0;
      this.cards.scrollTop = 0;
      const page = this.root.closest('[data-testid="stMain"]');
      if (page) page.scrollTop = 0;
      this.activate(this.nextOpen(), { quiet: true });
    }
    this.draw();
    if (isNew && data.adding) this.startAdding(data.selected);
    if (turned) this.placeUntil = performance.now() + 1500; // until the heights around it are settled
    this.fit();
  }

  takeBook(book) {
    this.book = { ...book, byCode: Object.fromEntries(book.codes.map((code) => [code.code, code])) };
    this.say = book.strings;
    this.turns = Object.fromEntries(book.turns.map((turn) => [turn.index, turn]));
    this.shown = {};
    this.list.replaceChildren();
  }

  get isLabel() {
    return this.data.mode === "label";
  }

  hint(action) {
    return showKey(this.data.keys[action]);
  }

  // ---- what is to be decided

  items() {
    if (this.isLabel) return this.book.codes.map((code) => code.code);
    const choices = this.draft.state.choices;
    return [...choices.filter((each) => !each.suggested), ...choices.filter((each) => each.suggested)].map((each) => each.id);
  }

  choice(id) {
    return this.draft.state.choices.find((each) => each.id === id);
  }

  isOpen(id) {
    if (this.isLabel) return ["open", "where"].includes(this.answerOf(id));
    const choice = this.choice(id);
    return choice.state === "open" && !choice.suggested;
  }

  openItems() {
    return this.items().filter((id) => this.isOpen(id));
  }

  nextOpen(after) {
    const items = this.items();
    const from = items.indexOf(after) + 1;
    return [...items.slice(from), ...items.slice(0, from)].find((id) => this.isOpen(id)) ?? null;
  }

  answerOf(code) {
    const { choices, said } = this.draft.state;
    if (choices.some((each) => each.code === code && each.state === "kept")) return "yes";
    return { true: "where", false: "no" }[String(said[code])] || "open";
  }

  quote({ turn, start, end }) {
    const part = this.turns[turn];
    return part ? quoteIn(part, start, end) : "";
  }

  // ---- what the person does

  activate(id, { quiet } = {}) {
    if (this.asking && this.asking !== id) this.asking = null;
    this.active = id;
    if (quiet) return;
    const turn = this.activeTurn();
    if (turn !== null && !this.turns[turn] && this.data.pages > 1) {
      this.draft.act({ kind: "page", page: this.data.page_of[turn] ?? 0 }, { blocks: false });
    }
    this.draw();
    this.scrollToActive();
  }

  activeTurn() {
    const choice = this.isLabel ? this.draft.state.choices.find((each) => each.code === this.active && each.state !== "rejected") : this.choice(this.active);
    return choice ? choice.turn : null;
  }

  // ---- clauses and sources beside the finding in hand

  evidence() {
    const choice = this.isLabel ? null : this.choice(this.active);
    return choice ? choice.evidence.filter((id) => this.book.evidence[id]) : [];
  }

  unfold(ids, open) {
    if (ids.every((id) => this.unfolded.has(id) === open)) return;
    for (const id of ids) this.unfolded[open ? "add" : "delete"](id);
    this.draw();
  }

  showEvidence() {
    const ids = this.evidence();
    if (!ids.length) return this.tell(this.say.no_evidence);
    const open = !ids.every((id) => this.unfolded.has(id));
    this.unfold(ids, open);
    if (open) this.list.querySelector("[data-evidence]")?.scrollIntoView({ block: "nearest" });
    else this.scrollToActive();
  }

  // Goes on to the next that is open; stays on none if all are decided, so that no key reverses a decision.
  advance(from) {
    this.activate(this.nextOpen(from));
  }

  // Goes on after a decision on what `wasOpen`. After the last one it saves, if the person likes it so.
  goOn(from, wasOpen) {
    this.advance(from);
    const isDone = !this.openItems().length && (this.isLabel || this.draft.state.choices.every((each) => each.state !== "open"));
    if (wasOpen && isDone && this.data.auto_save) this.save();
  }

  wasOpen(id) {
    return this.isLabel ? this.isOpen(id) : this.choice(id).state === "open";
  }

  decide(id, state) {
    const choice = this.choice(id);
    if (!choice || choice.own || this.draft.busy) return;
    const wasOpen = this.asking === id ? this.askedOpen : this.wasOpen(id);
    this.asking = null;
    this.draft.edit([{ kind: "set", id, state, code: choice.code, severity: choice.severity, why: "" }]);
    if (state === "rejected" && !choice.suggested) {
      this.clearSelection(); // digits mean reasons now
      this.active = id;
      this.asking = id;
      this.askedOpen = wasOpen;
      this.draw();
      this.scrollToActive();
    } else this.goOn(id, wasOpen);
  }

  notApplicable(id) {
    const choice = this.choice(id);
    if (!choice || choice.own) return;
    const wasOpen = this.wasOpen(id);
    this.draft.edit([{ kind: "set", id, state: "rejected", code: choice.code, severity: choice.severity, why: "not_applicable" }]);
    this.goOn(id, wasOpen);
  }

  rejectAndSave(id) {
    const choice = this.choice(id);
    if (!choice || choice.own) return;
    this.draft.edit([{ kind: "set", id, state: "rejected", code: choice.code, severity: choice.severity, why: "" }]);
    this.advance(id);
    if (!this.openItems().length) this.save();
  }

  giveReason(n) {
    const choice = this.choice(this.asking);
    if (!choice) return;
    const why = (this.data.reasons[(choice.was || [choice.code])[0]] || [])[n];
    if (!why) return;
    this.draft.edit([{ kind: "set", id: choice.id, state: "rejected", code: choice.code, severity: choice.severity, why }]);
    this.asking = null;
    this.goOn(choice.id, this.askedOpen);
  }

  giveNoReason() {
    const last = this.asking;
    this.asking = null;
    this.goOn(last, this.askedOpen);
  }

  setSeverity(id, severity) {
    const choice = this.choice(id);
    const code = choice && this.book.byCode[choice.code];
    if (!code || !code.severities.includes(severity)) return this.tell(fill(this.say.no_severity, { code: choice ? choice.code : "", severity }));
    const state = choice.state === "open" ? "open" : choice.own ? "kept" : choice.state;
    this.draft.edit([{ kind: "set", id, state, code: choice.code, severity, why: choice.why }]);
  }

  changeCode(id, code) {
    const choice = this.choice(id);
    const severity = code.severities.includes(choice.severity) && code.code === choice.code ? choice.severity : code.severity;
    const wasOpen = this.wasOpen(id);
    this.draft.edit([{ kind: "set", id, state: "kept", code: code.code, severity, why: "" }]);
    this.goOn(id, wasOpen);
  }

  remove(id) {
    this.draft.edit([{ kind: "remove", id }]);
    if (!this.isLabel) this.advance(id);
  }

  // The person came to add an error, with the words selected on the page before, if any.
  startAdding(selected) {
    if (!selected) return this.startSelecting(null);
    this.selection = selected;
    this.openPicker("add");
    this.scrollToTurn(selected.turn);
  }

  addFinding(code) {
    const place = this.selection;
    if (!place) return;
    const wasOpen = this.isLabel && this.wasOpen(code.code);
    const id = "own-" + this.draft.tab + "-" + (this.draft.seq + 1);
    this.draft.edit([{ kind: "add", id, ...place, code: code.code, severity: code.severity }]);
    this.clearSelection();
    if (this.isLabel) this.goOn(code.code, wasOpen);
    else this.activate(id);
  }

  sayYes(code) {
    this.active = code;
    if (this.draft.state.choices.some((each) => each.code === code && !each.own && !each.suggested) || this.answerOf(code) === "yes") {
      const wasOpen = this.wasOpen(code);
      this.draft.edit([{ kind: "say", code, present: true }]);
      return this.goOn(code, wasOpen);
    }
    if (this.selection) return this.addFinding(this.book.byCode[code]);
    this.draft.edit([{ kind: "say", code, present: true }]);
    this.startSelecting(code);
  }

  sayNo(code) {
    this.cursor = null;
    const wasOpen = this.wasOpen(code);
    this.draft.edit([{ kind: "say", code, present: false }]);
    this.goOn(code, wasOpen);
  }

  confirmAll() {
    if (this.isLabel) return;
    const edits = this.openItems().map((id) => ({ kind: "set", id, state: "kept", code: this.choice(id).code, severity: this.choice(id).severity, why: "" }));
    this.draft.edit(edits);
    this.goOn(null, edits.length > 0);
  }

  noToRest() {
    const edits = this.openItems().map((code) => ({ kind: "say", code, present: false }));
    this.draft.edit(edits);
    this.cursor = null;
    this.goOn(null, edits.length > 0);
  }

  nothingWrong() {
    if (this.items().some((code) => this.answerOf(code) === "yes")) return this.tell(this.say.has_findings);
    this.noToRest();
    this.save();
  }

  acceptAndSave() {
    if (this.isLabel) return;
    this.confirmAll();
    this.save();
  }

  save() {
    const open = this.openItems();
    if (open.length) {
      this.tell(fill(this.say.not_decided, { n: open.length }));
      return this.advance(null);
    }
    if (this.draft.busy) return;
    this.asking = null;
    this.draft.act({ kind: "save" });
  }

  undo() {
    this.asking = null;
    const at = this.draft.undo();
    if (at === null) return this.tell(this.say.nothing_to_undo);
    if (this.items().includes(at)) this.activate(at);
  }

  // ---- selection of words

  selectable() {
    return this.book.turns.filter((turn) => turn.selectable && (textOf(turn).trim() || isSilent(turn)));
  }

  startSelecting(code) {
    const turns = this.selectable();
    if (!turns.length) return;
    this.openTool(null);
    this.wanted = code || null;
    this.cursor = new WordCursor(turns, this.activeTurn() ?? this.firstVisibleTurn());
    this.selection = this.cursor.range;
    window.getSelection().removeAllRanges();
    this.draw();
    this.scrollToTurn(this.selection.turn);
  }

  firstVisibleTurn() {
    const top = this.list.getBoundingClientRect().top;
    const first = [...this.list.children].find((each) => each.getBoundingClientRect().bottom > top + 8 && each.querySelector("[data-selectable], [data-call]"));
    return first ? Number(first.dataset.turn) : null;
  }

  readSelection() {
    if (!this.data || this.cursor || !this.root.isConnected) return;
    const selected = selectedIn(this.list);
    if (!selected || JSON.stringify(selected) === JSON.stringify(this.selection)) return;
    this.selection = selected;
    this.asking = null; // digits mean codes now
    this.draw();
  }

  clearSelection() {
    this.cursor = this.selection = this.wanted = null;
    window.getSelection().removeAllRanges();
  }

  add() {
    if (!this.selection) return this.startSelecting(this.isLabel ? this.active : null);
    if (this.isLabel && this.wanted) return this.addFinding(this.book.byCode[this.wanted]);
    this.openPicker("add");
  }

  openPicker(purpose, id) {
    const forTurn = purpose === "add" ? this.selection.turn : this.choice(id).turn;
    if (purpose === "change") this.active = id;
    this.asking = null;
    const close = () => { this.openTool(null); this.draw(); };
    const pick = (code) => {
      this.openTool(null);
      if (purpose === "add") this.addFinding(code);
      else this.changeCode(id, code);
    };
    const note = (code) => {
      const given = (this.data.given[forTurn] || {})[code.code];
      return given ? fill(this.say.given, { p: given, turn: forTurn }) : code.coverage || "";
    };
    this.openTool(pickerOf(this, { codes: this.book.codes, title: purpose === "add" ? this.say.which_error : this.say.change_to, note, onPick: pick, onClose: close }));
    this.draw();
    this.tool.start();
  }

  openSkip() {
    if (this.data.supersedes) return;
    const close = () => { this.openTool(null); this.draw(); };
    const onSkip = (reason, more) => { this.openTool(null); this.draft.act({ kind: "skip", reason, more: more.trim() }); };
    this.openTool(skipFormOf(this, { onSkip, onClose: close }));
    this.draw();
  }

  setAutoSave(on) {
    this.draft.act({ kind: "auto_save", on }, { blocks: false });
    this.data.auto_save = on;
    this.tell(on ? this.say.auto_save_on : this.say.auto_save_off);
    if (this.tool && this.tool.classList.contains("dialint-help")) { this.openTool(null); this.openHelp(); }
  }

  openHelp() {
    if (this.tool && this.tool.classList.contains("dialint-help")) { this.openTool(null); return this.draw(); }
    this.openTool(helpOf(this, { onAutoSave: () => this.setAutoSave(!this.data.auto_save), onClose: () => { this.openTool(null); this.draw(); } }));
    this.draw();
  }

  jump(number) {
    const all = this.isLabel ? this.items() : this.draft.state.choices.map((each) => each.id);
    this.jumping = null;
    if (all[number - 1] !== undefined) this.activate(all[number - 1]);
    else this.draw();
  }

  openTool(tool) {
    this.tool = tool;
    this.tools.drawn = null;
    this.tools.replaceChildren(...(tool ? [tool] : []));
  }

  // ---- keys

  key(event) {
    if (!this.data || !this.root.isConnected || this.root.offsetParent === null) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const inside = this.root.contains(target);
    if (target.closest(PLAIN_FIELDS) && !(target === this.list)) return; // it belongs to the field
    if (!inside && target !== document.body && target.closest("button, a, [role='tab'], [role='dialog'], summary")) {
      if (["Enter", " ", "Escape"].includes(event.key)) return;
    }
    const key = keyOf(event);
    if (["Shift", "Control", "Alt", "Meta"].includes(key)) return;
    const isUndo = (event.ctrlKey || event.metaKey) && key === "z";
    if ((event.ctrlKey || event.metaKey || event.altKey) && !isUndo) return;
    const take = () => { event.preventDefault(); event.stopPropagation(); };
    if (this.draft.busy) { if (/^[\w]$|^Shift\+/.test(key)) take(); return; } // it was meant for the item that is being saved
    this.readSelection(); // a key may come before the timer of the pointer's release
    if (this.cursor && this.selectKey(event, key)) return take();
    if (this.asking && ["Enter", "Escape"].includes(key) && isForNoReason(target)) { take(); return this.giveNoReason(); }
    if (inside && ["Enter", " "].includes(event.key) && target.closest("button, summary")) return;
    if (["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"].includes(event.key) && target === this.list) return; // it scrolls
    const act = isUndo ? () => this.undo() : this.actionOf(key, event);
    if (!act) return;
    take();
    if (event.repeat && !/^Arrow/.test(key)) return; // a key held down is one stroke
    act();
  }

  // The codes that a digit gives to the selected words: what the model thinks likely in the turn, then the first.
  quickCodes() {
    if (this.isLabel || !this.selection) return [];
    const likely = Object.keys((this.data.given || {})[this.selection.turn] || {});
    const codes = [...new Set([...likely, ...this.book.codes.map((code) => code.code)])];
    return codes.filter((code) => this.book.byCode[code]).slice(0, 5).map((code) => this.book.byCode[code]);
  }

  // The one thing that a digit means now; the screen shows digits beside nothing else.
  digitMeaning() {
    if (this.tool) return null;
    if (this.jumping !== null && this.jumping !== undefined) return "jump";
    if (this.asking) return "reason";
    if (this.quickCodes().length) return "code";
    return !this.isLabel && this.choice(this.active) ? "severity" : null;
  }

  digitAction(key) {
    const n = Number(key);
    const jump = () => {
      const number = Number(this.jumping + key);
      return number * 10 > this.items().length ? () => this.jump(number) : () => { this.jumping += key; this.draw(); };
    };
    const meanings = {
      jump,
      reason: () => n && (() => this.giveReason(n - 1)),
      code: () => { const code = this.quickCodes()[n - 1]; return code && (() => this.addFinding(code)); },
      severity: () => n >= 1 && n <= 4 && (() => this.setSeverity(this.active, "S" + key)),
    };
    const meaning = this.digitMeaning();
    return meaning ? meanings[meaning]() : null;
  }

  selectKey(event, key) {
    const quick = /^[1-9]$/.test(key) && this.quickCodes()[Number(key) - 1];
    if (quick) { this.addFinding(quick); return true; }
    if (key === "Escape") { this.clearSelection(); this.draw(); return true; }
    if (key === "Enter") { this.add(); return true; }
    if (!this.cursor.move(event)) return false;
    this.selection = this.cursor.range;
    this.draw();
    this.scrollToTurn(this.selection.turn, true);
    return true;
  }

  actionOf(key, event) {
    if (this.tool && this.tool.classList.contains("dialint-skip")) {
      if (/^[1-9]$/.test(key)) return () => this.tool.pick(Number(key) - 1);
    }
    if (key === "Escape") return () => { this.openTool(null); this.asking = this.jumping = null; this.clearSelection(); this.draw(); };
    if (this.tool && key !== this.data.keys.help) return null; // a list or form has the keys
    if (key === "Enter" && this.jumping) return () => this.jump(Number(this.jumping));
    const digit = /^[0-9]$/.test(key) && this.digitAction(key);
    if (digit) return digit;
    const shifted = event.shiftKey && /^Digit([1-5])$/.exec(event.code); // what is on the key depends on the layout
    const marked = shifted && this.quickCodes()[Number(shifted[1]) - 1];
    if (marked) return () => { this.addFinding(marked); this.save(); };
    const action = Object.keys(this.data.keys).find((name) => this.data.keys[name] === key);
    const alias = { ArrowDown: "next", ArrowUp: "previous" }[key];
    const name = action || alias;
    if (!name || !this.data.actions.some((each) => each.action === name)) return null;
    return () => {
      if (["next", "previous", "jump"].includes(name)) this.asking = null;
      if (this.asking && !["undo", "help", "evidence", "next", "previous", "jump"].includes(name)) { // the reason was not given: go on
        const last = this.asking;
        this.asking = null;
        this.active = this.nextOpen(last);
      }
      this.perform(name);
    };
  }

  perform(name) {
    const { active } = this;
    const choice = this.isLabel ? null : this.choice(active);
    const items = this.items();
    const step = (by) => {
      const at = items.indexOf(active);
      this.activate(items[Math.min(items.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by))] ?? null);
    };
    const actions = {
      confirm: () => {
        if (this.isLabel) return active && this.sayYes(active);
        if (choice && choice.own) return this.advance(active);
        return active && this.decide(active, "kept");
      },
      reject: () => (this.isLabel ? active && this.sayNo(active) : choice && choice.own ? this.remove(active) : active && this.decide(active, "rejected")),
      reject_save: () => active && this.rejectAndSave(active),
      auto_save: () => this.setAutoSave(!this.data.auto_save),
      not_applicable: () => choice && this.notApplicable(active),
      code: () => choice && this.openPicker("change", active),
      evidence: () => this.showEvidence(),
      words: () => this.startSelecting(this.isLabel ? active : null),
      add: () => this.add(),
      all: () => this.confirmAll(),
      accept: () => this.acceptAndSave(),
      rest: () => this.noToRest(),
      clean: () => this.nothingWrong(),
      save: () => this.save(),
      skip: () => this.openSkip(),
      undo: () => this.undo(),
      reopen: () => this.draft.act({ kind: "reopen" }),
      next: () => step(1),
      previous: () => step(-1),
      jump: () => { this.jumping = ""; this.draw(); },
      help: () => this.openHelp(),
      later: () => this.turnPage(1),
      earlier: () => this.turnPage(-1),
    };
    actions[name]();
  }

  turnPage(by) {
    const page = this.data.page + by;
    if (page >= 0 && page < this.data.pages) this.draft.act({ kind: "page", page }, { blocks: false });
  }

  tell(text) {
    this.message = text;
    this.drawFoot();
    clearTimeout(this.quietly);
    this.quietly = setTimeout(() => { this.message = ""; this.drawFoot(); }, 4000);
  }

  draw() {
    drawWorkspace(this);
  }

  drawTools() { drawTools(this); }
  drawFoot() { drawFoot(this); }
  drawMap() { if (this.data) drawMap(this); }
  drawThumb() { drawThumb(this); }
  fit() {
    fitHeight(this);
    if (this.placeUntil > performance.now()) this.scrollToActive(true);
  }
  scrollToActive(always) { const turn = this.activeTurn() ?? (always ? this.data.question_turn : null); if (turn !== null) this.scrollToTurn(turn); }
  scrollToTurn(turn, gently) { scrollToTurn(this, turn, gently); }
}

export default function (component) {
  const root = component.parentElement.querySelector(".dialint-work");
  root.work = root.work || new Workspace(root);
  root.work.update(component);
}
