// Before anything is drawn: scripts run, so the schedule that they draw stands in place of its picture; and the scheme that was chosen.
document.documentElement.classList.add('js');
try {
  const chosen = localStorage.getItem('pantoum-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch (none) { /* a page from a file may have no storage */ }
