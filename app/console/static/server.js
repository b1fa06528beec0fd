// Where Streamlit's page finds its server; without it the page looks below its own address first.
window.__streamlit = { BACKEND_BASE_URL: new URL("..", document.currentScript.src).href };
