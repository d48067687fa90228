// Light or dark, and whether anything was asked for. A plain script in the head: the first paint is right.
(() => {
  const root = document.documentElement;
  const preferred = matchMedia('(prefers-color-scheme: dark)');

  // Browsers may forbid to keep anything; then the system's choice is all there is.
  const kept = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null;
    }
  };
  const keep = (theme) => {
    try {
      localStorage.setItem('theme', theme);
    } catch {
      /* as above */
    }
  };

  function apply() {
    const isDark = (kept() ?? (preferred.matches ? 'dark' : 'light')) === 'dark';
    root.dataset.theme = isDark ? 'dark' : 'light';
    // What Swagger UI goes by.
    root.classList.toggle('dark-mode', isDark);
    for (const button of document.querySelectorAll('[data-toggle-theme]')) {
      button.setAttribute('aria-pressed', String(isDark));
    }
    dispatchEvent(new Event('themechange'));
  }

  apply();
  root.classList.toggle('is-welcome', !new URLSearchParams(location.search).get('id')?.trim());
  preferred.addEventListener('change', apply);
  addEventListener('DOMContentLoaded', apply);
  addEventListener('storage', apply);
  addEventListener('click', (event) => {
    if (!event.target.closest?.('[data-toggle-theme]')) return;
    keep(root.dataset.theme === 'dark' ? 'light' : 'dark');
    apply();
  });
})();
