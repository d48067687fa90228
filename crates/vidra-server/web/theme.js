// Sets the colour scheme and the welcome layout. A classic script in the head, so that the first paint is correct.
(() => {
  const root = document.documentElement;
  const preferred = matchMedia('(prefers-color-scheme: dark)');

  // Browsers may block storage. Then only the system's scheme applies.
  const storedTheme = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null;
    }
  };
  const storeTheme = (theme) => {
    try {
      localStorage.setItem('theme', theme);
    } catch {
      /* as above */
    }
  };

  function apply() {
    const isDark = (storedTheme() ?? (preferred.matches ? 'dark' : 'light')) === 'dark';
    root.dataset.theme = isDark ? 'dark' : 'light';
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
    storeTheme(root.dataset.theme === 'dark' ? 'light' : 'dark');
    apply();
  });
})();
