// The panel's parts: cards of findings, questions of codes, the list of codes, and what stands below them.

function fill(text, values) {
  return Object.entries(values).reduce((made, [name, value]) => made.replaceAll("{" + name + "}", value), text);
}

function button(label, act, { key, className = "", title, pressed, disabled, data } = {}) {
  const made = element("button", "dialint-button " + className);
  made.type = "button";
  made.append(element("span", "", label));
  if (key) {
    const hint = element("kbd", "", key);
    hint.setAttribute("aria-hidden", "true");
    made.append(hint);
    if (/^[\w?]+$/.test(key)) made.setAttribute("aria-keyshortcuts", key);
  }
  if (title) { made.title = title; if (!label) made.setAttribute("aria-label", title); }
  if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
  made.disabled = Boolean(disabled);
  made.dataset.do = data || label;
  made.addEventListener("click", (event) => { event.stopPropagation(); act(event); });
  return made;
}

function showKey(key) {
  return key.replace(/^Arrow(Up|Down|Left|Right)$/, (_, way) => ({ Up: "↑", Down: "↓", Left: "←", Right: "→" })[way])
    .replace("Shift+", "⇧").replace(/^[a-z]$/, (letter) => letter.toUpperCase());
}

function severityChip(severity, book) {
  const names = Object.fromEntries(book.severities.map((each) => [each.code, each.name]));
  return element("span", "dialint-chip dialint-" + severity.toLowerCase(), severity + " " + (names[severity] || ""));
}

function probabilityBar(choice, say) {
  const bar = element("span", "dialint-probability");
  bar.title = choice.source || "";
  if (choice.p === undefined || choice.p === null) {
    bar.append(element("span", "dialint-number", say.own));
    return bar;
  }
  const track = element("span", "dialint-track");
  const level = element("span", "dialint-level");
  level.style.width = Math.round(choice.p * 100) + "%";
  track.append(level);
  track.setAttribute("aria-hidden", "true");
  bar.append(track, element("span", "dialint-number", choice.p_text));
  return bar;
}

function stateOf(choice, say) {
  if (choice.own) return "✓ " + say.added;
  if (choice.suggested && choice.state === "open") return say.suggestion;
  if (choice.suggested && choice.state === "rejected") return "✗ " + say.dismissed;
  return { open: "? " + say.open, kept: "✓ " + say.confirmed, rejected: "✗ " + say.rejected }[choice.state];
}

// One finding in two lines; the active one with its reason and buttons.
function cardOf(work, choice, number, isActive) {
  const { say, book } = work;
  const code = book.byCode[choice.code] || { code: choice.code, name: "", severities: [] };
  const card = element("div", "dialint-card dialint-is-" + choice.state + (isActive ? " dialint-current" : ""));
  card.setAttribute("role", "listitem");
  card.dataset.id = choice.id;
  if (isActive) card.setAttribute("aria-current", "true");
  card.addEventListener("click", () => work.activate(choice.id));
  const first = element("div", "dialint-line");
  const head = button(number + "  " + code.code + " " + code.name, () => work.activate(choice.id), { className: "dialint-title", data: "card " + choice.id });
  first.append(head, severityChip(choice.severity, book), probabilityBar(choice, say), element("span", "dialint-state", stateOf(choice, say)));
  card.append(first);
  const quote = element("div", "dialint-quote");
  quote.append(element("span", "dialint-where", fill(say.turn, { n: choice.turn }) + " "), element("bdi", "", "“" + choice.quote + "”"));
  card.append(quote);
  if (!isActive) {
    if (choice.state === "open" && !choice.own) {
      const quick = element("span", "dialint-quick");
      quick.append(
        button("✓", () => work.decide(choice.id, "kept"), { title: say.confirm + " " + number, data: "quick kept " + choice.id }),
        button("✗", () => work.decide(choice.id, "rejected"), { title: say.reject + " " + number, data: "quick rejected " + choice.id }),
      );
      first.append(quick);
    }
    return card;
  }
  if (choice.was && (choice.was[0] !== choice.code || choice.was[1] !== choice.severity)) {
    card.append(element("div", "dialint-reason", fill(say.changed, { code: choice.was[0], severity: choice.was[1] })));
  }
  if (choice.reason && choice.code === (choice.was || [choice.code])[0]) card.append(element("div", "dialint-reason", choice.reason));
  const buttons = element("div", "dialint-buttons");
  if (choice.own) {
    buttons.append(button(say.remove, () => work.remove(choice.id), { key: work.hint("reject"), data: "remove" }));
  } else {
    const [yes, no] = choice.suggested ? [say.confirm_suggestion, say.dismiss] : [say.confirm, say.reject];
    buttons.append(
      button(yes, () => work.decide(choice.id, "kept"), { key: work.hint("confirm"), pressed: choice.state === "kept", data: "kept" }),
      button(no, () => work.decide(choice.id, "rejected"), { key: work.hint("reject"), pressed: choice.state === "rejected", data: "rejected" }),
    );
  }
  buttons.append(button(say.change, () => work.openPicker("change", choice.id), { key: work.hint("code"), data: "change" }));
  const evidence = work.evidence();
  if (evidence.length) {
    buttons.append(button(say.evidence, () => work.showEvidence(), { key: work.hint("evidence"), pressed: evidence.every((id) => work.unfolded.has(id)), data: "evidence" }));
  }
  for (const severity of code.severities.length > 1 || !code.severities.includes(choice.severity) ? code.severities : []) {
    buttons.append(button(severity, () => work.setSeverity(choice.id, severity), { key: work.digitMeaning() === "severity" ? severity.slice(1) : undefined, pressed: choice.severity === severity, title: say.severity + " " + severity, data: severity }));
  }
  card.append(buttons);
  if (work.asking === choice.id) card.append(reasonsOf(work, choice));
  return card;
}

function reasonsOf(work, choice) {
  const { say, data } = work;
  const box = element("div", "dialint-reasons");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", say.why);
  box.append(element("span", "dialint-hint", say.why));
  (data.reasons[(choice.was || [choice.code])[0]] || []).forEach((id, n) => {
    box.append(button(data.reason_names[id] || id, () => work.giveReason(n), { key: work.digitMeaning() === "reason" ? String(n + 1) : undefined, pressed: choice.why === id, data: "why " + id }));
  });
  return box;
}

// One question of a labeler: is this code in the dialogue?
function questionOf(work, code, number, isActive) {
  const { say } = work;
  const answer = work.answerOf(code.code);
  const card = element("div", "dialint-card dialint-says-" + answer + (isActive ? " dialint-current" : ""));
  card.setAttribute("role", "listitem");
  card.dataset.id = code.code;
  if (isActive) card.setAttribute("aria-current", "true");
  card.addEventListener("click", () => work.activate(code.code));
  const first = element("div", "dialint-line");
  first.append(
    button(number + "  " + code.code + " " + code.name, () => work.activate(code.code), { className: "dialint-title", data: "card " + code.code }),
    element("span", "dialint-state", { yes: "✓ " + say.yes, no: "✗ " + say.no, where: "? " + say.where, open: "? " + say.unanswered }[answer]),
  );
  const quick = element("span", "dialint-buttons");
  quick.append(
    button(say.yes, () => work.sayYes(code.code), { key: isActive ? work.hint("confirm") : undefined, pressed: answer === "yes" || answer === "where", data: "yes " + code.code }),
    button(say.no, () => work.sayNo(code.code), { key: isActive ? work.hint("reject") : undefined, pressed: answer === "no", data: "no " + code.code }),
  );
  card.append(first, element("div", "dialint-test", code.test));
  for (const choice of work.draft.state.choices.filter((each) => each.code === code.code && each.state !== "rejected")) {
    const found = element("div", "dialint-found");
    const source = choice.own ? "" : " " + choice.p_text;
    found.append(element("span", "dialint-where", fill(say.turn, { n: choice.turn }) + source + " "), element("bdi", "", "“" + choice.quote + "”"));
    if (choice.own) found.append(button(say.remove, () => work.remove(choice.id), { data: "remove " + choice.id }));
    card.append(found);
  }
  first.append(quick);
  if (isActive) {
    const more = folded(say.meaning, element("div", "dialint-meaning"));
    const box = more.lastChild;
    box.append(element("p", "", code.definition));
    if (code.example) box.append(element("p", "", say.example + " " + code.example));
    if (code.counter_example) box.append(element("p", "", say.counter_example + " " + code.counter_example));
    more.open = work.explains;
    more.addEventListener("toggle", () => { work.explains = more.open; });
    card.append(more);
  }
  return card;
}

// A list of codes that typing filters; keys in it belong to it.
function pickerOf(work, { codes, title, note, onPick, onClose }) {
  const { say } = work;
  const box = element("div", "dialint-tool dialint-picker");
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-label", title);
  const input = element("input");
  input.type = "text";
  input.placeholder = say.type_code;
  input.setAttribute("aria-label", say.type_code);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-expanded", "true");
  input.setAttribute("aria-controls", "dialint-codes");
  input.autocomplete = "off";
  input.spellcheck = false;
  const list = element("ul", "dialint-codes");
  list.id = "dialint-codes";
  list.setAttribute("role", "listbox");
  const about = element("div", "dialint-hint");
  let shown = [];
  let at = 0;
  const rank = (code, typed) => {
    const words = (code.name + " " + code.code).toLowerCase().split(/\s+/);
    if (code.code.toLowerCase().startsWith(typed)) return 0;
    if (words.some((word) => word.startsWith(typed))) return 1;
    return (code.code + " " + code.name).toLowerCase().includes(typed) ? 2 : 3;
  };
  const draw = () => {
    const typed = input.value.trim().toLowerCase();
    shown = codes.map((code) => [rank(code, typed), code]).filter(([level]) => !typed || level < 3).sort((a, b) => a[0] - b[0]).map(([, code]) => code);
    at = Math.min(at, Math.max(0, shown.length - 1));
    list.replaceChildren(...shown.map((code, n) => {
      const option = element("li", n === at ? "dialint-chosen" : "", code.code + " " + code.name);
      option.id = "dialint-code-" + n;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", String(n === at));
      option.addEventListener("pointerdown", (event) => { event.preventDefault(); onPick(code); });
      return option;
    }));
    input.setAttribute("aria-activedescendant", shown.length ? "dialint-code-" + at : "");
    about.textContent = shown.length ? shown[at].definition + " " + note(shown[at]) : say.no_code;
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  input.addEventListener("input", () => { at = 0; draw(); });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = Math.min(shown.length - 1, Math.max(0, at + (event.key === "ArrowDown" ? 1 : -1)));
      draw();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (shown[at]) onPick(shown[at]);
    } else if (event.key === "Escape") { event.preventDefault(); onClose(); }
  });
  const head = element("div", "dialint-line");
  head.append(element("strong", "", title), button(say.close, onClose, { key: "Esc", data: "close" }));
  box.append(head, input, list, about);
  box.start = () => { draw(); input.focus({ preventScroll: true }); };
  return box;
}

function skipFormOf(work, { onSkip, onClose }) {
  const { say, data } = work;
  const box = element("div", "dialint-tool dialint-skip");
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-label", say.skip_why);
  const input = element("input");
  let chosen = null;
  const choose = (id) => {
    chosen = id;
    for (const each of box.querySelectorAll("[data-reason]")) each.setAttribute("aria-pressed", String(each.dataset.reason === id));
    done.disabled = false;
    input.focus({ preventScroll: true });
  };
  const head = element("div", "dialint-line");
  head.append(element("strong", "", say.skip_why), button(say.close, onClose, { key: "Esc", data: "close" }));
  box.append(head);
  data.skip_reasons.forEach(({ id, name }, n) => {
    const made = button(name, () => choose(id), { key: String(n + 1), pressed: false, data: "skip " + id });
    made.dataset.reason = id;
    box.append(made);
  });
  input.type = "text";
  input.maxLength = 200;
  input.placeholder = say.skip_more;
  input.setAttribute("aria-label", say.skip_more);
  const done = button(say.skip_this, () => chosen && onSkip(chosen, input.value), { key: "Enter", disabled: true, data: "skip this" });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && chosen) onSkip(chosen, input.value);
    else if (event.key === "Escape") onClose();
  });
  box.append(input, done);
  box.pick = (n) => data.skip_reasons[n] && choose(data.skip_reasons[n].id);
  return box;
}

// All keys, and the switch that saves after the last decision.
function helpOf(work, { onAutoSave, onClose }) {
  const { say, data } = work;
  const box = element("div", "dialint-tool dialint-help");
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-label", say.keys);
  const head = element("div", "dialint-line");
  head.append(element("strong", "", say.keys), button(say.auto_save, onAutoSave, { pressed: data.auto_save, data: "auto save" }), button(say.close, onClose, { key: "Esc", data: "close" }));
  const list = element("div", "dialint-keys");
  const actions = data.actions.map(({ action, name }) => [showKey(data.keys[action]), name]);
  const fixed = [["1–4", say.severity], ["⇧1–5", say.add_save], ["Esc", say.close], ["Ctrl+Z", say.undo]];
  for (const [key, name] of [...actions, ...(work.isLabel ? fixed.slice(2) : fixed)]) {
    const row = element("span", "dialint-button dialint-fixed");
    row.append(element("span", "", name), element("kbd", "", key));
    list.append(row);
  }
  box.append(head, list);
  return box;
}
