// The list of rows.

function makeRows(root, title, filter, trace, choose) {
  const items = trace.rows.map((row, i) => {
    const tokens = row.end?.tokens?.length ? row.end.tokens : row.start;
    const finish = row.end?.finish ?? "unfinished";
    const text = reading(trace, tokens, 160);
    const item = element("button", {class: "item", role: "option", "aria-selected": "false", tabindex: "-1", id: "row-" + row.index},
      element("span", {class: "n"}, String(row.index)),
      element("span", {class: "text"}, text || "(no text)"),
      element("span", {class: "meta"}, [finish, row.end ? `NFE ${row.end.nfe}` : "", !row.end ? "" : trace.header.growth ? `length ${tokens.length}` : `${row.end.step} steps`].filter(Boolean).join(" · ")));
    item.classList.toggle("bad", finish !== "complete" && finish !== "stop");
    item.addEventListener("click", () => choose(i));
    item.hay = (row.index + " " + text + " " + finish).toLowerCase();
    return item;
  });
  root.append(...items);
  title.textContent = trace.rows.length === 1 ? "1 row" : `${trace.rows.length.toLocaleString("en")} rows`;
  filter.hidden = trace.rows.length < 12;
  filter.addEventListener("input", () => {
    const want = filter.value.trim().toLowerCase();
    for (const item of items) item.hidden = !item.hay.includes(want);
  });
  let current = -1;
  return {
    select(i) {
      items[current]?.setAttribute("aria-selected", "false");
      items[current = i].setAttribute("aria-selected", "true");
      items[i].scrollIntoView({block: "nearest"});
    },
    // near is the next row in a direction that the filter shows.
    near(i, by) {
      for (let j = i + by; j >= 0 && j < items.length; j += by) if (!items[j].hidden) return j;
      return i;
    },
  };
}
