// Draws the workspace: header, turns with their marks, map, cards, tools and footer. Only what changed is drawn anew.

// What is the same stays: a button that is replaced between press and release would lose the click.
function replaceKeepingFocus(node, made) {
  const html = made.map((each) => each.outerHTML).join("");
  if (node.childElementCount && node.drawn === html) return;
  node.drawn = html;
  const held = node.contains(document.activeElement) ? document.activeElement.dataset.do : null;
  node.replaceChildren(...made);
  if (held) [...node.querySelectorAll("[data-do]")].find((each) => each.dataset.do === held)?.focus({ preventScroll: true });
}

function drawWorkspace(work) {
  drawTop(work);
  drawTurns(work);
  drawCards(work);
  drawTools(work);
  drawFoot(work);
  drawMap(work);
}

function drawTop(work) {
  const { data, say } = work;
  const bar = [element("strong", "", data.title)];
  if (data.origin) bar.push(element("span", "dialint-origin", data.origin));
  if (data.pages > 1) {
    const box = element("span", "dialint-pages");
    box.append(
      button(say.earlier, () => work.turnPage(-1), { disabled: data.page === 0, data: "earlier", key: work.hint("earlier") }),
      element("span", "", data.page_text),
      button(say.later, () => work.turnPage(1), { disabled: data.page === data.pages - 1, data: "later", key: work.hint("later") }),
    );
    bar.push(box);
  }
  replaceKeepingFocus(work.bar, bar);
  const parts = data.notices.map(([kind, text]) => element("div", "dialint-notice dialint-" + kind, text));
  if (data.summary) parts.push(element("div", "dialint-summary", data.summary));
  const signature = JSON.stringify([data.notices, data.summary, data.instructions, data.draft]);
  if (work.shown.top === signature) return;
  work.shown.top = signature;
  if (data.instructions) {
    const details = folded(say.instructions, element("div", "dialint-instructions", data.instructions));
    details.open = data.expand;
    parts.push(details);
  }
  work.top.replaceChildren(...parts);
}

// The marks of the choices, numbered like the cards, and of what is selected.
function marksOf(work) {
  const marks = [];
  work.draft.state.choices.forEach((choice, n) => {
    let { state } = choice;
    if (work.isLabel && state === "rejected") return;
    if (choice.suggested && state === "rejected") return;
    if (choice.suggested && state === "open") state = "suggested";
    const { turn, start, end, id, code } = choice;
    const number = work.isLabel ? "" : n + 1 + " ";
    marks.push({ turn, start, end, id, state, label: number + code + " " + SYMBOLS[state], active: id === work.active });
  });
  if (work.cursor) marks.push({ ...work.selection, state: "selected", label: "", active: false });
  return marks;
}

function proofTurns(work) {
  const choice = work.isLabel ? null : work.choice(work.active);
  return new Set(choice ? choice.proof : []);
}

function drawTurns(work) {
  const { book, list, say } = work;
  const marks = marksOf(work);
  const proof = proofTurns(work);
  if (!list.children.length) {
    for (const id of book.context) {
      const item = element("li", "dialint-turn dialint-system");
      item.append(evidenceOf(book.evidence[id]));
      list.append(item);
    }
    work.first = list.children.length;
    for (const turn of book.turns) list.append(turnOf({ ...turn, pieces: overlay(turn, []) }, say));
    work.shown.turns = {};
  }
  book.turns.forEach((turn, n) => {
    const own = marks.filter((mark) => mark.turn === turn.index);
    const evidence = own.some((mark) => mark.active) ? work.evidence() : [];
    const signature = JSON.stringify([own, proof.has(turn.index), evidence, evidence.map((id) => work.unfolded.has(id))]);
    if ((work.shown.turns[n] || "[[],false,[],[]]") === signature) return;
    work.shown.turns[n] = signature;
    const made = turnOf({ ...turn, pieces: overlay(turn, own) }, say);
    if (proof.has(turn.index)) {
      made.classList.add("dialint-proof");
      for (const details of made.querySelectorAll("details")) details.open = true;
    }
    for (const call of made.querySelectorAll("[data-call]")) {
      const here = own.filter((mark) => mark.start <= Number(call.dataset.call) && Number(call.dataset.call) < mark.end);
      if (here.some((mark) => mark.state === "selected")) call.classList.add("dialint-selected");
      made.append(...here.filter((mark) => mark.label).map(badgeOf)); // not in the call, which may be folded
    }
    if (own.some((mark) => mark.active)) made.classList.add("dialint-has-active");
    for (const id of evidence) {
      const details = evidenceOf(book.evidence[id]);
      details.dataset.evidence = id;
      details.open = work.unfolded.has(id);
      details.addEventListener("toggle", () => work.unfold([id], details.open));
      made.append(details);
    }
    list.children[work.first + n].replaceWith(made);
  });
}

// A clause or a source, folded; what the finding quotes of it is marked.
function evidenceOf({ title, note, pieces }) {
  const text = element("div", "dialint-passage");
  text.dir = "auto";
  for (const piece of pieces) text.append(element(piece.marked ? "mark" : "span", "", piece.text));
  const box = element("div");
  if (note) box.append(element("div", "dialint-hint", note));
  box.append(text);
  const details = folded(title, box);
  details.classList.add("dialint-evidence");
  return details;
}

function drawCards(work) {
  const { say, data } = work;
  const made = [];
  const heading = (text, note) => {
    const box = element("div", "dialint-heading");
    box.append(element("strong", "", text));
    if (note) box.append(element("span", "dialint-hint", note));
    return box;
  };
  if (work.isLabel) {
    work.book.codes.forEach((code, n) => made.push(questionOf(work, code, n + 1, work.active === code.code)));
  } else {
    const numbered = work.draft.state.choices.map((choice, n) => [choice, n + 1]);
    const findings = numbered.filter(([choice]) => !choice.suggested);
    const suggestions = numbered.filter(([choice]) => choice.suggested);
    for (const [choice, n] of findings) made.push(cardOf(work, choice, n, choice.id === work.active));
    if (!findings.length) made.push(element("p", "dialint-hint", data.blind ? say.blind_empty : say.no_findings));
    if (suggestions.length) {
      made.push(heading(say.suggestions, say.suggestions_note));
      for (const [choice, n] of suggestions) made.push(cardOf(work, choice, n, choice.id === work.active));
    }
  }
  const top = work.cards.scrollTop;
  replaceKeepingFocus(work.cards, made);
  work.cards.scrollTop = top;
  const current = work.cards.querySelector(".dialint-current");
  if (!current) return;
  const box = work.cards.getBoundingClientRect();
  const card = current.getBoundingClientRect();
  if (card.top < box.top) work.cards.scrollTop -= box.top - card.top + 4;
  else if (card.bottom > box.bottom) work.cards.scrollTop += Math.min(card.bottom - box.bottom + 4, card.top - box.top);
}

function drawTools(work) {
  if (work.tool) return;
  const { say, selection } = work;
  if (!selection) return replaceKeepingFocus(work.tools, []);
  const box = element("div", "dialint-tool");
  const quote = work.quote(selection);
  const line = element("div", "dialint-line");
  line.append(element("strong", "", fill(say.selected, { n: selection.turn })), element("bdi", "dialint-picked", "“" + quote + "”"));
  const buttons = element("div", "dialint-buttons");
  const wanted = work.isLabel && (work.wanted || work.active);
  const label = wanted ? fill(say.mark_as, { code: wanted }) : say.add;
  const mark = wanted ? () => work.addFinding(work.book.byCode[wanted]) : () => work.add();
  buttons.append(
    button(label, mark, { key: work.cursor ? "Enter" : work.hint("add"), className: "dialint-primary", data: "add" }),
    button(say.clear, () => { work.clearSelection(); work.draw(); }, { key: "Esc", data: "clear" }),
  );
  work.quickCodes().forEach((code, n) => {
    buttons.append(button(code.code + " " + code.name, () => work.addFinding(code), { key: work.digitMeaning() === "code" ? String(n + 1) : undefined, data: "quick " + code.code }));
  });
  box.append(line, buttons);
  if (work.cursor) box.append(element("div", "dialint-hint", say.select_keys));
  replaceKeepingFocus(work.tools, [box]);
}

function drawFoot(work) {
  const { say, data } = work;
  const needed = work.isLabel ? work.items() : work.items().filter((id) => !work.choice(id).suggested);
  const n = needed.filter((id) => !work.isOpen(id)).length;
  const ready = n === needed.length;
  const progress = fill(work.isLabel ? say.answered : say.decided, { n, total: needed.length });
  const errors = work.draft.state.choices.filter((each) => each.state === "kept").length;
  const first = element("div", "dialint-line");
  const status = element("span", "dialint-progress", work.draft.busy ? say.saving : work.message || progress);
  const count = element("span", "dialint-hint", fill(say.errors, { n: errors }));
  const save = button(say.save, () => work.save(), { key: work.hint("save"), className: ready ? "dialint-primary" : "", disabled: work.draft.busy, data: "save" });
  if (!ready) save.setAttribute("aria-disabled", "true");
  first.append(save, status, count);
  const digits = (say.digits || {})[work.digitMeaning()];
  if (digits) first.append(element("span", "dialint-hint dialint-digits", digits));
  if (data.auto_save) first.append(element("span", "dialint-hint dialint-own", say.auto_save_on));
  const second = element("div", "dialint-buttons");
  if (work.isLabel) {
    const has = work.items().some((code) => work.answerOf(code) === "yes");
    second.append(
      button(say.clean, () => work.nothingWrong(), { key: work.hint("clean"), disabled: has || work.draft.busy, data: "clean", className: n === 0 ? "dialint-primary" : "" }),
      button(say.rest, () => work.noToRest(), { key: work.hint("rest"), disabled: ready, data: "rest" }),
    );
  } else if (needed.length - n > 1) {
    second.append(button(fill(say.confirm_all, { n: needed.length - n }), () => work.confirmAll(), { key: work.hint("all"), data: "all" }));
  }
  second.append(button(say.add, () => work.add(), { key: work.hint("add"), data: "add finding" }));
  second.append(button(say.undo, () => work.undo(), { key: work.hint("undo"), disabled: !work.draft.undoStack.length, data: "undo" }));
  if (data.supersedes) second.append(button(say.leave, () => work.draft.act({ kind: "leave" }), { data: "leave" }));
  else {
    second.append(button(say.skip, () => work.openSkip(), { key: work.hint("skip"), data: "skip" }));
    second.append(button(say.reopen, () => work.draft.act({ kind: "reopen" }), { key: work.hint("reopen"), data: "reopen" }));
    second.append(button(say.stop, () => work.draft.act({ kind: "stop" }), { data: "stop", title: say.stop_help }));
  }
  second.append(button(say.keys, () => work.openHelp(), { key: work.hint("help"), data: "help" }));
  const made = [first, second];
  if (work.jumping !== null && work.jumping !== undefined) made.unshift(element("div", "dialint-hint", say.jump + " " + work.jumping + "…"));
  if (data.own) made.push(element("div", "dialint-hint dialint-own", data.own));
  replaceKeepingFocus(work.foot, made);
  if (work.live.textContent !== status.textContent) work.live.textContent = status.textContent;
  work.root.setAttribute("aria-busy", String(work.draft.busy));
}

function drawMap(work) {
  const { list, map } = work;
  const height = Math.max(list.scrollHeight, 1);
  const ticks = [];
  work.draft.state.choices.forEach((choice, n) => {
    if (choice.state === "rejected" && (work.isLabel || choice.suggested)) return;
    const turn = list.querySelector('[data-turn="' + Number(choice.turn) + '"]');
    if (!turn) return;
    const badge = [...turn.querySelectorAll("[data-id]")].find((each) => each.dataset.id === choice.id) || turn;
    const at = badge.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop;
    const tick = element("button", "dialint-tick dialint-tick-" + (choice.suggested && choice.state === "open" ? "suggested" : choice.state));
    tick.type = "button";
    tick.tabIndex = -1; // the cards lead to the same places
    tick.style.top = (100 * at) / height + "%";
    tick.title = n + 1 + " " + choice.code;
    tick.setAttribute("aria-label", fill(work.say.tick, { n: n + 1, code: choice.code, turn: choice.turn }));
    if (choice.id === work.active) tick.classList.add("dialint-tick-active");
    tick.addEventListener("click", () => { work.activate(work.isLabel ? choice.code : choice.id); work.scrollToTurn(choice.turn); });
    ticks.push(tick);
  });
  const thumb = element("div", "dialint-thumb");
  map.replaceChildren(thumb, ...ticks);
  map.hidden = !ticks.length && list.scrollHeight <= list.clientHeight + 1;
  drawThumb(work);
}

function drawThumb({ list, map }) {
  const thumb = map.querySelector(".dialint-thumb");
  if (!thumb) return;
  thumb.hidden = list.scrollHeight <= list.clientHeight + 1;
  const height = Math.max(list.scrollHeight, 1);
  thumb.style.top = (100 * list.scrollTop) / height + "%";
  thumb.style.height = (100 * list.clientHeight) / height + "%";
}

// With the turn before it, if that is short: the first visible heading is never cut at the edge.
function scrollToTurn({ list }, index, gently) {
  const turn = list.querySelector('[data-turn="' + Number(index) + '"]');
  if (!turn) return;
  const marked = turn.querySelector("mark.dialint-active, mark.dialint-selected") || turn;
  const [box, mark] = [list.getBoundingClientRect(), marked.getBoundingClientRect()];
  const isVisible = mark.top >= box.top + 4 && mark.bottom <= box.bottom - 4;
  if (isVisible && gently) return;
  const proof = list.querySelector(".dialint-proof");
  const before = proof && proof.offsetTop < turn.offsetTop && turn.offsetTop - proof.offsetTop < list.clientHeight / 2 ? proof : turn.previousElementSibling;
  const isNear = before && turn.offsetTop - before.offsetTop < list.clientHeight / 3;
  const first = isNear || before === proof ? before || turn : turn;
  const padding = parseFloat(getComputedStyle(list).paddingTop) + list.clientTop;
  list.scrollTop += first.getBoundingClientRect().top - box.top - padding;
  const after = marked.getBoundingClientRect();
  if (after.bottom > list.getBoundingClientRect().bottom - 4) list.scrollTop += after.top - list.getBoundingClientRect().top - list.clientHeight / 3;
}

// The workspace fills the window below what stands above it, so that nothing of it depends on the page's scrolling.
function fitHeight({ root }) {
  const page = root.closest('[data-testid="stMain"]');
  const above = root.getBoundingClientRect().top + (page ? page.scrollTop : 0);
  const height = Math.max(300, Math.floor(window.innerHeight - above - 8));
  if (root.style.height !== height + "px") root.style.height = height + "px";
}
