// Keys: j and k (arrows in the list) go from finding to finding, / searches, Escape leaves the
// search.

function isTyping(target) {
  return target.closest("input, select, textarea") !== null;
}

export function listenForKeys(list) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const inList = list.rows.contains(event.target);
    const moves = {j: 1, k: -1, ...(inList ? {ArrowDown: 1, ArrowUp: -1} : {})};
    if (event.key === "/")
      list.search.focus();
    else if (event.key in moves)
      list.move(moves[event.key]);
    else
      return;
    event.preventDefault();
  });
}
