"use strict";
(() => {
  // What a page of another origin cannot send without asking first.
  const own = { "X-Requested-With": "weir" };
  const tools = document.getElementById("tools");
  const jobs = document.getElementById("jobs");
  const here = location.pathname;
  const may = (what) => tools.dataset.may.split(" ").includes(what);
  const url = (path) => here + path.split("/").map(encodeURIComponent).join("/");
  const why = (status) => ({
    0: "connection lost", 401: "not signed in", 403: "not permitted", 409: "no such folder", 412: "is there already",
    413: "too large", 423: "locked", 503: "busy", 507: "no room left",
  })[status] || "failed (" + status + ")";
  const waiting = [];
  let running = 0, failed = 0, done = 0;

  document.body.classList.add("on");
  tools.classList.add("on");

  function send(method, target, headers, body, progress) {
    return new Promise((answered) => {
      const request = new XMLHttpRequest();
      request.open(method, target);
      for (const [name, value] of Object.entries({ ...own, ...headers })) request.setRequestHeader(name, value);
      if (progress) request.upload.onprogress = progress;
      request.onloadend = () => answered(request.status);
      request.send(body);
    });
  }

  function line(name) {
    const [item, text, bar, state] = ["li", "span", "progress", "span"].map((kind) => document.createElement(kind));
    text.textContent = name;
    bar.max = 1;
    bar.value = 0;
    item.append(text, bar, state);
    jobs.append(item);
    return {
      at: (part) => { bar.value = part; state.textContent = Math.floor(part * 100) + "%"; },
      end: (status, good) => {
        bar.value = good ? 1 : bar.value;
        state.textContent = good ? "done" : why(status);
        state.classList.toggle("bad", !good);
      },
    };
  }

  async function upload(path, file) {
    const shown = line(path);
    const progress = (event) => event.lengthComputable && shown.at(event.loaded / event.total);
    const put = (headers) => send("PUT", url(path), headers, file, progress);
    let status = await put({ "If-None-Match": "*" });
    if (status === 412 && confirm(path + " is there already. Replace it?")) status = await put({});
    const good = status >= 200 && status < 300;
    shown.end(status, good);
    good ? done++ : failed++;
  }

  function next() {
    while (running < 3 && waiting.length) {
      const work = waiting.shift();
      running++;
      work().finally(() => { running--; next(); });
    }
    if (!running && !waiting.length) {
      document.documentElement.dataset.idle = failed ? "failed" : "done";
      if (done && !failed) location.reload();
    }
  }

  const add = (path, file) => waiting.push(() => upload(path, file));

  // A folder is there before what is in it.
  async function folder(path) {
    const status = await send("MKCOL", url(path) + "/", {});
    if (status === 201 || status === 405) return true;
    line(path + "/").end(status, false);
    failed++;
    return false;
  }

  const members = (entry) => new Promise((all, broken) => {
    const reader = entry.createReader(), found = [];
    const more = () => reader.readEntries((some) => some.length ? (found.push(...some), more()) : all(found), broken);
    more();
  });

  async function take(entry, path) {
    if (entry.isFile) return add(path, await new Promise((got, broken) => entry.file(got, broken)));
    if (!(await folder(path))) return;
    for (const member of await members(entry)) await take(member, path + "/" + member.name);
    done++;
  }

  async function dropped(transfer) {
    const items = [...transfer.items].filter((item) => item.kind === "file");
    const entries = items.map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
    if (entries.length) for (const entry of entries) await take(entry, entry.name);
    else for (const file of transfer.files) add(file.name, file);
    next();
  }

  async function chosen(files) {
    const made = new Map();
    for (const file of files) {
      const path = file.webkitRelativePath || file.name;
      const parts = path.split("/");
      let good = true;
      for (let at = 1; at < parts.length && good; at++) {
        const parent = parts.slice(0, at).join("/");
        if (!made.has(parent)) made.set(parent, await folder(parent));
        good = made.get(parent);
      }
      if (good) add(path, file);
    }
    next();
  }

  if (may("upload")) {
    for (const input of tools.querySelectorAll("input")) input.addEventListener("change", () => chosen([...input.files]));
    const over = (on) => (event) => { event.preventDefault(); tools.classList.toggle("over", on); };
    document.addEventListener("dragover", over(true));
    document.addEventListener("dragleave", over(false));
    document.addEventListener("drop", (event) => { over(false)(event); dropped(event.dataTransfer); });
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    let status = 0, name = "";
    if (button.id === "make") {
      name = prompt("Name of the new folder");
      if (!name || name.includes("/")) return;
      status = await send("MKCOL", url(name) + "/", {});
    } else if (button.dataset.delete) {
      name = button.dataset.name;
      if (!confirm("Delete " + name + (button.dataset.delete.endsWith("/") ? " and all that is in it" : "") + "?")) return;
      status = await send("DELETE", button.dataset.delete, {});
    } else return;
    if (status >= 200 && status < 300 && status !== 207) location.reload();
    else line(name).end(status === 207 ? 403 : status, false);
  });
})();
