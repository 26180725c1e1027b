//! What is not worth remembering: text that asserts nothing that lasts.
//!
//! A text is taken apart into lines, lines into what programs print and what somebody says, and what is said into sentences.
//! A sentence counts when it states something about the world that will still be of use when the conversation is over: it
//! has a predicate or names something particular, stands by itself, and is none of the acts that only make sense in the
//! moment (a greeting, a question, "let me check", "done", "is restarting", talk about memory itself). One that counts is enough;
//! a text without one is noise, of the kind most of it is.

use std::sync::LazyLock;

use super::acts::{Act, act_of};
use super::language::{Language, is_small, language};
use super::phrase::Phrases;
use super::sentence::{Sentence, sentences};
use super::shape::{Printed, sorted};
use crate::words::words;

/// Why a text is noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Noise {
    /// No words at all: emoji, punctuation.
    Wordless,
    /// Nothing is left beside what was redacted.
    SecretsOnly,
    Printed(Printed),
    Act(Act),
    /// A dialogue that was copied, and says nothing.
    Transcript,
    /// No predicate, nothing named.
    Fragment,
}

/// Nothing when something in the text is worth keeping.
pub(crate) fn noise_of(text: &str) -> Option<Noise> {
    let all = words(text);
    let language = language(text, &all);
    if all.is_empty() {
        return Some(Noise::Wordless);
    }
    if is_only_secrets(text) {
        return Some(Noise::SecretsOnly);
    }
    let sorted = sorted(text);
    let said = without_speakers(&sorted.said);
    if is_a_card(&said.lines) {
        return Some(Noise::Act(Act::Profile));
    }
    let mut first = None;
    for sentence in said.lines.iter().flat_map(|line| sentences(line)) {
        match judged(sentence, language) {
            None => return None,
            Some(noise) => first = first.or(Some(noise)),
        }
    }
    let spoken = if said.speakers { Some(Noise::Transcript) } else { first };
    Some(sorted.printed.map(Noise::Printed).or(spoken).unwrap_or(Noise::Fragment))
}

/// Nothing when the sentence counts.
fn judged(sentence: Sentence<'_>, language: Language) -> Option<Noise> {
    if let Some(act) = act_of(&sentence) {
        return Some(Noise::Act(act));
    }
    let rest = sentence.without_interjections(&OPENERS, &ADVERBS);
    if let Some(act) = act_of(&rest) {
        return Some(Noise::Act(act));
    }
    if rest.words.len() < WORDS_OF_A_STATEMENT {
        return Some(Noise::Fragment);
    }
    // Verbs are known in listed languages only; elsewhere words are all that can be asked for.
    let long = rest.words.len() >= WORDS_OF_A_SENTENCE && rest.words.iter().any(|word| is_small(word));
    let states = language == Language::Unlisted || VERBS.occur_in(&rest.words) || rest.is_specific() || long;
    let points = DEICTIC.begin(&rest.words) && !rest.is_specific();
    if states && !points { None } else { Some(Noise::Fragment) }
}

/// Somebody, something, and what about it.
const WORDS_OF_A_STATEMENT: usize = 3;
/// No list has all verbs: that many words with a small one among them are a sentence whose verb is not known.
const WORDS_OF_A_SENTENCE: usize = 6;

/// Said by the way at the head of a sentence; what follows is what counts.
static OPENERS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "hello, hi, hey, dear, good morning, good evening, good afternoon, welcome, greetings, ok, okay, sure, yes, yeah, yep, no, \
         right, great, perfect, nice, thanks, thank, understood, got it, alright, absolutely, exactly, sounds, noted, done, cool, fine, \
         awesome, good, excellent, certainly, of course, indeed, well, hmm, oh, ah, wow, agreed, correct, sorry, i'm sorry, \
         apologies, unfortunately, so, finished, complete",
        "hallo, moin, guten, servus, klar, alles klar, gut, danke, verstanden, ja, nein, gerne, super, genau, okay, entschuldigung",
        "bonjour, bonsoir, salut, d'accord, merci, très bien, oui, non, parfait, bien sûr, désolé, entendu, voilà",
        "hola, buenas, buenos, vale, gracias, entendido, de acuerdo, sí, claro, perfecto, perdona, perdón, listo",
        "ciao, salve, buongiorno, grazie, va bene, certo, sì, olá, oi, obrigado, obrigada, certo, sim, hoi, dag, dank, prima, goed",
    ])
});

static ADVERBS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "now, next, first, then, so, also, finally, please, and, but, again, meanwhile, actually, just",
        "jetzt, nun, dann, zuerst, also, und, aber, bitte, danach",
        "maintenant, ensuite, puis, alors, et, d'abord, enfin, ahora, luego, entonces, después, primero, y",
        "ora, adesso, poi, quindi, agora, depois, então, nu, dan, daarna, eerst",
    ])
});

/// Words that point at something said before: alone, such a sentence says nothing.
static DEICTIC: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "this, that, it, these, those, here, it's, that's, this is, he, she, they",
        "das, dies, dieses, es, hier, dort, ça, ceci, cela, c'est, ici, eso, esto, aquí, ahí, questo, quello, isso, isto, dit, dat, hier",
    ])
});

/// Finite verbs that predicates of lasting statements have. Not all there are: what names something particular needs none.
pub(super) static VERBS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "is, are, was, were, has, have, had, does, do, did, will, must, should, can, cannot, can't, may, needs, need, uses, use, \
         runs, run, listens, lives, live, stays, stay, keeps, keep, kept, requires, require, depends, depend, supports, support, \
         stores, store, reads, writes, returns, return, expects, contains, contain, belongs, belong, means, takes, take, makes, make, \
         leads, lead, leaves, leave, causes, cause, caused, fails, fail, failed, breaks, break, broke, crashes, crash, crashed, \
         prefers, prefer, wants, want, likes, like, dislikes, dislike, hates, decided, decides, chose, chosen, picked, agreed, settled, \
         voted, dropped, moves, moved, goes, go, comes, come, came, starts, start, ends, end, sends, send, gets, get, gives, give, \
         holds, hold, owns, own, maintains, maintain, manages, handles, handle, works, work, deploys, deploy, grows, grow, slows, slow, \
         loses, lose, drops, drop, exceeds, exceed, happens, happen, follows, follow, turns, turn, returned, changed, changes, change, \
         fixed, fixes, fix, helps, help, stopped, stops, stop, corrupts, corrupt, consists, consist, expires, expire, lands, land, \
         tends, tend, hits, hit, brings, bring, times, asks, ask, always, never, replaced, replaces, allows, allow, denies, deny, \
         forbids, avoid, avoids, ensures, ensure, becomes, become, sits, sit, costs, cost, pays, pay, speaks, speak, serves, serve, \
         accepts, accept, rejects, reject, applies, apply, expired, depended, made, went, led, left, lost, broken, based, located, \
         called, named, written, limited, owned, set, prohibited, required, allowed, reviews, leaks, wiped, receives, produces, generates, creates, deletes, updates, shows, \
         hides, saves, loads, calls, checks, closes, opens, matches, ignores, skips, skipped, retries, covers, includes, excludes, affects, \
         appears, behaves, prevents, provides, processes, publishes, pulls, pushes, refuses, refused, remains, removes, replies, responds, \
         restarts, routes, schedules, splits, triggers, trusts, validates, varies, wins, doubles, doubled, got, gets, knows, sees, \
         thinks, says, said, told, built, bought, sold, sells, buys, eats, drinks, drives, teaches, studies, speaks, signs, signed, \
         refers, points, maps, links, binds, forwards, rejects, encrypts, expects, publishes, rotates, hosts, monitors, backs, \
         overrides, inherits, replicates, vetoed, rejected, approved, switched, migrated, deprecated, renamed to, removed in, broke",
        "ist, sind, war, waren, hat, haben, hatte, wird, werden, wurde, wurden, läuft, laufen, nutzt, nutzen, verwendet, verwenden, \
         steht, stehen, liegt, liegen, braucht, brauchen, muss, müssen, darf, dürfen, soll, sollen, kann, können, bevorzugt, mag, \
         möchte, will, wollen, verliert, bricht, kam, kommt, gehört, heißt, hängt, speichert, hört, führt, fällt, gilt, gibt, bleibt",
        "est, sont, était, ont, utilise, utilisons, utilisent, tourne, doit, doivent, peut, peuvent, préfère, préfèrent, veut, expire, \
         casse, perd, venait, vient, dépend, stocke, écoute, faut, reste, contient, exige, a choisi",
        "es, son, era, está, están, tiene, tienen, usa, usan, utiliza, debe, deben, puede, pueden, prefiere, prefieren, quiere, hay, \
         ejecuta, cae, queda, depende, decidió, decidimos, debía, cambia, guarda, escucha, requiere, falla, necesita",
        "è, sono, ha, hanno, usa, gira, deve, può, preferisce, dipende, perde, viene, contiene, ospita, richiede, \
         é, são, tem, têm, usa, está, deve, pode, prefere, depende, contém, exige, roda, fica, \
         zijn, heeft, hebben, gebruikt, moet, moeten, kan, kunnen, wil, staat, staan, draait, wordt, worden, schrijft, hangt",
    ])
});

struct Said<'a> {
    lines: Vec<&'a str>,
    speakers: bool,
}

/// Without "Ana:" or "[10:05] bot:" before what each says. Such heads are taken off where two lines or more have them, or
/// where the head is a role.
fn without_speakers<'a>(lines: &[&'a str]) -> Said<'a> {
    let heads = lines.iter().filter(|line| speaker(line).is_some()).count();
    let roles = lines.iter().filter_map(|line| speaker(line)).any(|(head, _)| is_role(head));
    if heads >= 2 && heads * 2 >= lines.len() || roles {
        let lines = lines.iter().map(|line| speaker(line).map_or(*line, |(_, rest)| rest)).collect();
        return Said { lines, speakers: true };
    }
    Said { lines: lines.to_vec(), speakers: false }
}

fn speaker(line: &str) -> Option<(&str, &str)> {
    let stripped = line.trim_start_matches(['#', ' ', '*', '<']);
    // `[10:05] Ana: ok`, `[Ana] ok`
    if let Some((head, rest)) = stripped.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let rest = rest.trim_start();
        let clock = head.contains(':') && head.starts_with(|c: char| c.is_ascii_digit());
        return if clock { speaker(rest) } else { Some((head, rest)) };
    }
    let (head, rest) = stripped.split_once([':', '>'])?;
    let named = head.split_whitespace().count() <= 2 && head.len() <= 24 && !head.is_empty();
    let ends = rest.starts_with(' ') || line.starts_with('<');
    (named && ends).then_some((head, rest.trim_start()))
}

fn is_role(head: &str) -> bool {
    const ROLES: [&str; 12] = [
        "user",
        "assistant",
        "human",
        "ai",
        "bot",
        "agent",
        "system",
        "q",
        "nutzer",
        "assistent",
        "utilisateur",
        "usuario",
    ];
    ROLES.contains(&head.trim_matches(['*', ' ', '#']).to_lowercase().as_str())
}

/// "Name: …, Age: …, Hobbies: …": a person filled in like a form.
fn is_a_card(lines: &[&str]) -> bool {
    const FIELDS: [&str; 8] =
        ["name:", "age:", "occupation:", "hobbies:", "gender:", "interests:", "personality:", "location:"];
    let lower = lines.join("\n").to_lowercase();
    FIELDS.iter().filter(|field| lower.contains(*field)).count() >= 2
}

/// What is left when placeholders are taken out says only what kind of secret was there.
fn is_only_secrets(text: &str) -> bool {
    let rest = super::without_placeholders(text);
    let about = |word: &String| ABOUT_SECRETS.contain(word) || word.contains(['=', '_']);
    rest.len() < text.len() && words(&rest).iter().all(about)
}

static ABOUT_SECRETS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "the, is, a, and, token, tokens, password, passwords, key, keys, api, secret, secrets, export, email, e-mail, phone, access, \
         private, my, your, for, credentials, login, user, pass, auth, bearer, set, new, value, code, pin",
        "das, passwort, ist, schlüssel, le, mot, de, passe, est, la, contraseña, es, clave",
    ])
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lasting_statement_is_enough() {
        for text in [
            "ValueError: bad date\n  at parse (a.js:3:1)\nRoot cause: dates were parsed as local time.",
            "Sure! The gateway listens on port 9096.",
            "Okay, noted. Ana prefers short answers without bullet points.",
            "I prefer tabs over spaces in Makefiles.",
        ] {
            assert_eq!(noise_of(text), None, "{text}");
        }
    }

    #[test]
    fn noise_is_named_by_its_kind() {
        for (text, expected) in [
            ("👍👍👍👍", Noise::Wordless),
            ("The token is [REDACTED_TOKEN]", Noise::SecretsOnly),
            ("[INFO] started on port 80", Noise::Printed(Printed::Log)),
            ("User: are you there?\nAssistant: yes, one moment.", Noise::Transcript),
            ("a few things", Noise::Fragment),
            ("It works fine here.", Noise::Fragment),
            ("It works again.", Noise::Act(Act::Transient)),
        ] {
            assert_eq!(noise_of(text), Some(expected), "{text}");
        }
    }
}
