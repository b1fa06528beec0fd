// If the connection breaks while a page is on its way, Streamlit takes the page that arrives after it for whole, and
// shows nothing. A page that stays empty is loaded again: drafts are in the store and the tab, filters in the address.
const EMPTY_MS = 2000;
const AGAIN_MS = 15000;
const LOADED = "dialint-loaded-again";
let emptySince = null;

function isEmpty() {
  const app = document.querySelector('[data-testid="stApp"]');
  const main = document.querySelector('[data-testid="stMain"]');
  if (app?.dataset.testScriptState !== "notRunning" || app.dataset.testConnectionState !== "CONNECTED") return false;
  return Boolean(main) && !main.querySelector('[data-testid="stElementContainer"]');
}

setInterval(() => {
  emptySince = isEmpty() ? (emptySince ?? performance.now()) : null;
  if (emptySince === null || performance.now() - emptySince < EMPTY_MS) return;
  if (Date.now() - Number(sessionStorage.getItem(LOADED)) < AGAIN_MS) return;
  sessionStorage.setItem(LOADED, String(Date.now()));
  location.reload();
}, 500);
