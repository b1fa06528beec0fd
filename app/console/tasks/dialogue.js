// A dialogue by itself: renders it and reports the selected words.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const list = parentElement.querySelector(".dialint-turns");
  const rendered = JSON.stringify(data);
  if (list.rendered !== rendered) {
    const last = list.rendered ? JSON.parse(list.rendered) : { page: null, focus: null };
    const top = list.scrollTop;
    list.replaceChildren(...data.turns.map((turn) => turnOf(turn, data.words)));
    list.scrollTop = data.page === last.page ? top : 0;
    if (last.page === null) {
      const page = list.closest('[data-testid="stMain"]'); // still where the last answer was saved
      if (page) page.scrollTop = 0;
    }
    const moved = data.focus !== last.focus || data.page !== last.page;
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
