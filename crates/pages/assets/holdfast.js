// What a page cannot do by itself. Nothing here puts text into it as HTML but fragments, which its renderer made.

const $ = (id) => document.getElementById(id);
const all = (what, from = document) => [...from.querySelectorAll(what)];
const on = (what, then) => document.addEventListener(what, then);
const { abs, floor, max, min } = Math;
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content;
document.documentElement.classList.add("js");

const say = (text) => { $("say").textContent = text; };
const made = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

function tell({ message, untouched, hint, code }) {
  const close = made("button", "Close");
  close.onclick = () => $("trouble").replaceChildren();
  $("trouble").replaceChildren(...[message, untouched, hint, code].filter(Boolean).map((it) => made("p", it)), close);
}

// ---- asking the gateway

// The anti-forgery word. On localhost no page has it: it was told at signing in, and other ports cannot read it here.
const KEPT = "holdfast-word";
const word = () => meta("csrf") || localStorage.getItem(KEPT) || "";
const keep = (done) => { if (done.word) localStorage.setItem(KEPT, done.word); return done; };
if (meta("csrf") === "" && !word()) location.replace(`/login?again=1&next=${encodeURIComponent(location.pathname)}`);

async function post(path, asked) {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ ...asked, csrf: word() });
  const answer = await fetch(path, { method: "POST", headers, body, redirect: "manual" }).catch(() => {
    throw { message: "The house did not answer.", untouched: "Whether anything changed is not known." };
  });
  const said = await answer.json().catch(() => null);
  if (answer.ok || answer.type === "opaqueredirect") return said ?? {};
  throw said?.error ?? { message: `The house answered ${answer.status}.` };
}

// Only to a place of ours, whatever was answered.
function go(next) {
  const to = new URL(next ?? location.pathname, location.origin);
  location.assign(to.origin === location.origin ? to.href : "/");
}

// ---- passkeys: binary fields travel as base64url

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

function asked(given) {
  given = given.publicKey ?? given;
  const id = (one) => ({ ...one, id: bytes(one.id) });
  const out = { ...given, challenge: bytes(given.challenge) };
  if (given.user) out.user = id(given.user);
  for (const list of ["excludeCredentials", "allowCredentials"]) if (given[list]) out[list] = given[list].map(id);
  return out;
}

function answered(credential) {
  const { id, rawId, type, response: from } = credential, response = {};
  for (const field of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) if (from[field]) response[field] = text(from[field]);
  if (response.attestationObject) {
    delete response.authenticatorData;
    response.transports = from.getTransports?.() ?? [];
  }
  return { id, rawId: text(rawId), type, response, extensions: credential.getClientExtensionResults() };
}

async function answer(how, path, asking, asks) {
  if (!window.PublicKeyCredential) throw { message: "This browser offers no passkeys here.", hint: "It has to trust the address." };
  const begun = await proven(`${path}/start`, asking, asks);
  if (begun.shown) say(begun.shown);
  const credential = await navigator.credentials[how]({ publicKey: asked(begun.publicKey) }).catch((e) => { throw declined(e); });
  return { ceremony: begun.ceremony, credential: answered(credential) };
}

const ceremony = async (how, path, asking, more, asks) => keep(await post(`${path}/finish`, { ...await answer(how, path, asking, asks), ...more }));

function declined(e) {
  const message = {
    InvalidStateError: "This device has a passkey here already.",
    NotAllowedError: "Your device did not confirm it: cancelled, too late, or no passkey for this address.",
  }[e.name] ?? `Your device could not do it (${e.name}).`;
  return { message, untouched: "Nothing was changed.", hint: "Try again, or choose another device." };
}

const confirm = (what, reason) => ceremony("get", "/auth/confirm", { what, reason });

// What takes a passkey for itself is sent with what the passkey said about exactly that.
const prove = async (to, { csrf, ...fields }) => JSON.stringify(await answer("get", "/auth/confirm", { act: { method: "POST", to, fields } }));
const proven = async (path, fields, asks) => post(path, asks ? { ...fields, proof: await prove(path, fields) } : fields);

async function act(form) {
  const proof = Object.assign(document.createElement("input"), { type: "hidden", name: "proof" });
  proof.value = await prove(new URL(form.action).pathname, Object.fromEntries(new FormData(form)));
  form.append(proof);
  form.submit();
  proof.remove();
}

// The token of a link leaves the address once read; another may be pasted later.
let link = null;
function read() {
  if (location.pathname !== "/register" || location.hash.length < 2) return;
  link = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
read();
addEventListener("hashchange", read);

async function register(form) {
  const done = await ceremony("create", "/auth/register", { link, label: form.elements.label.value }, {}, !link && "prove" in form.dataset);
  form.hidden = true;
  shown(done);
}

// Goes on, once what is shown only now was kept.
function shown({ codes, token, link, next }) {
  const kind = codes?.length ? "codes" : token ? "token" : link ? "link" : null;
  if (!kind) return go(next);
  const values = codes ?? [token ?? new URL(link, location.origin).href];
  $("once-said").textContent = $("once").dataset[kind];
  $("once-list").replaceChildren(...values.map((value) => made("li", value)));
  $("once-kept").onchange = (event) => { $("once-on").disabled = !event.target.checked; };
  $("once-on").onclick = () => go(next);
  $("once").hidden = false;
  $("once").focus();
}

async function send(form) {
  const fields = Object.fromEntries(new FormData(form));
  if (fields.days) fields.days = Number(fields.days);
  shown(await proven(new URL(form.action).pathname, fields, "prove" in form.dataset));
}

async function doing(element, work) {
  if (element.ariaBusy) return;
  element.ariaBusy = "true";
  $("trouble").replaceChildren();
  try { await work(); }
  catch (e) { tell(e instanceof Error ? { message: "Something in this page failed.", hint: e.message } : e); }
  element.ariaBusy = null;
}

on("submit", (event) => {
  const form = event.target, is = form.dataset;
  const csrf = form.elements.csrf, [name, calm] = (is.prove ?? "").split("=");
  if (csrf) csrf.value ||= word();
  const asks = "prove" in is && !(name && form.elements[name].value === calm);
  const work = is.passkey ? register : "recover" in is ? recover : "json" in is ? send : asks ? act : null;
  if (!work) return;
  event.preventDefault();
  doing(form, () => work(form));
});

const recover = async (form) => go((await post("/auth/recover", { code: form.elements.code.value })).next);
const signIn = async (next = null) => go((await ceremony("get", "/auth/login", {}, { next })).next);

on("click", (event) => {
  const button = event.target.closest("button"), is = button?.dataset ?? {};
  if (is.passkey) doing(button, () => signIn(is.next));
  if (is.confirm) doing(button, async () => go((await confirm(is.confirm, button.closest(".decide").querySelector("input").value)).next));
  if ("copy" in is || is.copyOf) copy(is);
  if ("print" in is) print();
  for (const open of all("details.fold[open]")) open.open = open.contains(event.target);
});

async function copy(is) {
  const from = $(is.copyOf ?? "");
  const line = (li) => [li.querySelector(".exact"), li.querySelector(".what") ?? li].map((it) => it?.textContent.trim()).filter(Boolean).join("  ");
  const text = is.copy ?? (all("li", from).map(line).join("\n") || from.textContent);
  say(await navigator.clipboard.writeText(text).then(() => "Copied.", () => "Your browser did not let it be copied."));
}

// ---- changes as they happen: what is typed into or pressed waits; focus, words and folds stay

const waiting = new Map();
const ABLE = "a[href],button,summary,input,select,[tabindex]";

function swap(id, html) {
  const old = $(id), at = document.activeElement;
  if (!old) return;
  if (old.querySelector(":active") || (old.contains(at) && at.matches("input,select"))) return void waiting.set(id, html);
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const fresh = holder.content.firstElementChild;
  if (fresh?.id !== id) return;
  const open = all("details", old).map((it) => it.open);
  all("details", fresh).forEach((it, n) => { it.open ||= open[n]; });
  const typed = all("input", old);
  all("input", fresh).forEach((it, n) => { if (it.type === "text") it.value ||= typed[n]?.value ?? ""; });
  const focus = all(ABLE, old).indexOf(at);
  old.replaceWith(fresh);
  all(ABLE, fresh)[focus]?.focus({ preventScroll: true });
  const said = fresh.dataset.say;
  if (said && said !== old.dataset.say) say(said);
  tick();
}

for (const what of ["focusout", "pointerup"]) on(what, () => setTimeout(() => {
  const held = [...waiting];
  waiting.clear();
  for (const [id, html] of held) swap(id, html);
}));

let tries = 0;
function live(path) {
  const stream = new EventSource(path);
  const stale = (is) => { $("stale").hidden = !is; };
  stream.onopen = () => { tries = 0; stale(false); };
  stream.addEventListener("fragment", (event) => { const { id, html } = JSON.parse(event.data); swap(id, html); });
  stream.addEventListener("gone", () => {
    stream.close();
    go(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  });
  stream.onerror = () => {
    stale(true);
    // A browser tries again by itself unless it was refused.
    if (stream.readyState === 2) setTimeout(live, min(60000, 3000 * 2 ** tries++), path);
  };
}

// ---- time, by the house's clock and not the reader's

const ahead = Number(meta("now") ?? Date.now()) - Date.now();
const now = () => Date.now() + ahead;
const two = (n) => String(n).padStart(2, "0");
const clock = (s, m = floor(s / 60)) => (m < 60 ? m : `${floor(m / 60)}:${two(m % 60)}`) + `:${two(s % 60)}`;

function relative(ms) {
  const s = floor(abs(ms) / 1000);
  if (s < 60) return ms > 1000 ? "in a moment" : "just now";
  const [unit, word] = s < 7200 ? [60, "min"] : s < 172800 ? [3600, "h"] : [86400, "days"];
  const said = `${floor(s / unit)} ${word}`;
  return ms > 0 ? `in ${said}` : `${said} ago`;
}

function tick() {
  for (const lease of all(".lease")) {
    const { ends, whole, speed } = lease.dataset;
    const left = max(0, (ends - now()) / 1000 * speed);
    lease.querySelector("b.left").textContent = clock(floor(left));
    lease.querySelector("rect.left").setAttribute("width", min(100, 100 * left / max(1, whole)));
  }
}
setInterval(tick, 1000);
setInterval(() => { for (const it of all("time[data-ago]")) it.textContent = relative(Date.parse(it.dateTime) - now()); }, 30000);

// ---- plots

const reads = (plot) => (plot.querySelector("[data-reads]")?.dataset.reads ?? "").split(";").filter(Boolean).map((it) => it.split(","));

function point(plot, [x, y, before, value]) {
  plot.querySelector(".cursor")?.remove();
  const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  for (const it of Object.entries({ class: "cursor", cx: x, cy: y, r: 4 })) dot.setAttribute(...it);
  plot.querySelector("svg").append(dot);
  plot.querySelector(".read").textContent = `${value} ${plot.dataset.unit} ${relative(-before)}`;
}

on("pointermove", (event) => {
  const svg = event.target.closest?.("[data-plot] svg");
  if (!svg) return;
  const box = svg.getBoundingClientRect(), plot = svg.closest("[data-plot]");
  const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
  const near = reads(plot).sort((a, b) => abs(a[0] - x) - abs(b[0] - x))[0];
  if (near) point(plot, near);
});

function walk(plot, key) {
  const them = reads(plot), last = them.length - 1, was = Number(plot.dataset.at ?? last + 1);
  const to = { ArrowLeft: was - 1, ArrowRight: was + 1, Home: 0, End: last }[key];
  if (to === undefined || last < 0) return false;
  plot.dataset.at = max(0, min(last, to));
  point(plot, them[plot.dataset.at]);
  return true;
}

// ---- keys

let led = -9999;
on("keydown", (event) => {
  const { key, target, timeStamp } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Escape") for (const open of all("details.fold[open]")) { open.open = false; open.firstElementChild.focus(); }
  if (target.closest("input, select, dialog")) return;
  const plot = target.closest("[data-plot]");
  if (plot && walk(plot, key)) return event.preventDefault();
  const place = timeStamp - led < 1500 && all("a[data-key]").find((it) => it.dataset.key === key);
  led = key === "g" ? timeStamp : -9999;
  if (place) return place.click();
  if (key === "?") $("keys")?.showModal();
  if (key === "/" && $("keys")) {
    event.preventDefault();
    const search = document.querySelector("[data-search]");
    if (search) search.focus(); else go("/memory");
  }
});

tick();
if (document.body.dataset.live) live(document.body.dataset.live);
