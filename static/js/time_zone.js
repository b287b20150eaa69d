// Tells the server the browser's time zone, so that the next page has times as this reader's clock shows them.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const said = `kaiku_tz=${zone}`;
  if (!zone || document.cookie.split("; ").includes(said)) return;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${said}; path=/; max-age=31536000; samesite=lax${secure}`;
})();
