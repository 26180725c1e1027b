//! Acts of speech that make sense only in the moment they are said in.

use std::sync::LazyLock;

use super::noise::VERBS;
use super::phrase::Phrases;
use super::sentence::Sentence;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    Greeting,
    Question,
    Apology,
    /// What the speaker does next, or has just done.
    Progress,
    Done,
    /// What somebody asked for, said again.
    Restated,
    /// What the speaker was told at its start.
    Boot,
    Heartbeat,
    /// A state that is over in a minute.
    Transient,
    AboutMemory,
    /// What a person is like in general.
    Profile,
    Chatter,
}

pub(crate) fn act_of(sentence: &Sentence<'_>) -> Option<Act> {
    let words = &sentence.words;
    let has = |phrases: &Phrases| phrases.occur_in(words);
    let act = if sentence.is_question() {
        Act::Question
    } else if GREETINGS.begin(words) && !sentence.has_number() {
        Act::Greeting
    } else if has(&APOLOGIES) {
        Act::Apology
    } else if has(&ABOUT_MEMORY) {
        Act::AboutMemory
    } else if has(&RESTATED) || is_headed_as_a_task(sentence) {
        Act::Restated
    } else if has(&BOOT) || BOOT_HEADS.begin(words) {
        Act::Boot
    } else if has(&HEARTBEAT) || NOBODY.begin(words) && !sentence.names_a_thing() {
        Act::Heartbeat
    } else if is_transient(sentence) {
        Act::Transient
    } else if is_done(sentence) {
        Act::Done
    } else if is_progress(sentence) {
        Act::Progress
    } else if is_a_profile(sentence) {
        Act::Profile
    } else if is_chatter(sentence) || speaks_to_somebody(sentence) {
        Act::Chatter
    } else {
        return None;
    };
    Some(act)
}

/// At the head of a sentence.
static GREETINGS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "hello, hi, hey, good morning, good evening, good afternoon, welcome, greetings",
        "hallo, moin, guten morgen, guten tag, guten abend, servus, bonjour, bonsoir, salut, hola, buenas, buenos días",
        "ciao, salve, buongiorno, buonasera, olá, oi, bom dia, boa tarde, hoi, goedemorgen, goedendag",
    ])
});

static APOLOGIES: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "i apologize, i apologise, my apologies, apologies for, i'm sorry, i am sorry, sorry for, sorry about, sorry i, my mistake, \
         my bad, i misunderstood, i misread, unfortunately i, i was not able, i was unable, i can't do, i cannot do",
        "entschuldigung, tut mir leid, mein fehler, verzeihung, désolé, désolée, pardon, excusez-moi, mes excuses",
        "lo siento, perdona, perdón, disculpa, disculpe, mi dispiace, scusa, scusi, desculpe, desculpa, sinto muito, het spijt me",
    ])
});

static ABOUT_MEMORY: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "my memory, to memory, to memory.md, into memory.md, long-term memory, memory search, memory consolidation, no new memories, \
         new memories, relevant memories, any memories, memories about, memories found, i will remember, i'll remember, \
         will remember that, keep that in mind, keep this in mind, keep it in mind, worth remembering, remember this, \
         for future sessions, for future reference, stored this, saved this, memory updated, memory saved, memories into, memory entry, \
         from memory",
        "merke ich mir, mir gemerkt, mir das gemerkt, mein gedächtnis, meinem gedächtnis, gespeichert im gedächtnis",
        "ma mémoire, je m'en souviendrai, mi memoria, lo recordaré, mia memoria, me lo ricorderò, minha memória, mijn geheugen",
    ])
});

static RESTATED: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "asked me, asks me, wants me to, want me to, told me to, requested me, requests that i, is requesting, is asking, \
         has requested, wants to know, would like me, user request, your request, you asked, you requested, you want me, \
         as requested, as you requested, as you asked, as you described, as you said, been asked to, was asked to, the task is to, \
         the goal is to, the goal here, my task is, the request is, the user asked for, the user asked to, the user asks, user query, \
         the user's request, user asked",
        "mich gebeten, möchte dass ich, will dass ich, bittet mich, hat gefragt, wie gewünscht, die aufgabe ist, deine anfrage",
        "m'a demandé, me demande, l'utilisateur demande, l'utilisateur veut, comme demandé, votre demande, ta demande",
        "me pidió, me ha pedido, me pide, el usuario pide, el usuario quiere que, como pediste, tu petición, su solicitud",
        "mi ha chiesto, l'utente chiede, come richiesto, me pediu, o usuário pediu, como solicitado, heeft mij gevraagd, zoals gevraagd",
    ])
});

/// "Task description: …"
fn is_headed_as_a_task(sentence: &Sentence<'_>) -> bool {
    const TASKS: [&str; 10] = [
        "task",
        "request",
        "objective",
        "goal",
        "prompt",
        "question",
        "assignment",
        "aufgabe",
        "auftrag",
        "tarea",
    ];
    let head = sentence.raw.split_once(':').map(|(head, _)| crate::words::words(head));
    head.is_some_and(|head| head.len() <= 4 && head.iter().any(|word| TASKS.contains(&word.as_str())))
}

/// Subjects that stand for nothing in particular.
static NOBODY: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "nothing, everything, all quiet, all is, anything, everyone's, nichts, alles, rien, tout est, nada, todo está, niente, tutto, niets",
    ])
});

static BOOT: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "helpful assistant, your role is, your task is, your job is, as an ai, as a large language, as a language model, \
         large language model, the assistant should, the assistant must, the assistant is, available tools, following tools, \
         access to the following, tools available, working directory, knowledge cutoff, current date, today's date, session started, \
         new session, follow the instructions, follow the rules, follow these, never reveal this, system prompt, autonomous assistant",
    ])
});

static BOOT_HEADS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "respond, reply with, reply in, output only, below are, you operate, you are, you're, you have access, you must, you can use, instructions, loading, loaded, initialising, initializing, \
         du bist, sie sind ein, tu es, vous êtes, eres, sei un, você é, je bent",
    ])
});

static HEARTBEAT: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "heartbeat, heartbeat_ok, no_reply, nothing to report, nothing to do, nothing new, nothing needs, no pending, no new messages, no new items, no new issues, no new mail, no new events, zero new, no alerts, \
         no new tasks, no action required, no action needed, no changes detected, standing by, cron tick, check-in, checkin, self-check, \
         routine check, status check, periodic check, scheduled check, health check passed, all systems, all services healthy, \
         everything is fine, everything is ok, everything is okay, everything looks good, all good, all clear, without findings, \
         waiting for instructions, awaiting instructions, idle, still alive, still here, no open tasks, no updates",
        "nichts zu tun, nichts neues, keine offenen, kein neuer auftrag, keine neuen, alles in ordnung, warte auf anweisungen",
        "rien à signaler, rien à faire, aucune tâche, tout va bien, en attente d'instructions",
        "nada que hacer, sin novedad, sin novedades, ninguna tarea, todo en orden, niente da fare, nessuna novità, nada a fazer, \
         niets te doen, geen nieuwe",
    ])
});

/// Adverbs and verbs of what is going on.
static GOING_ON: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "at the moment, in progress, under way, is currently, are currently, currently being, is being, are being, is now, are now, \
         is still, are still, still running, still waiting, waiting for, minutes left, seconds left, minutes remaining, is pending, \
         are pending, is retrying, is restarting, is rebooting, is starting, is stopping, is deploying, is compiling, is building, \
         is loading, is downloading, is uploading, is installing, is syncing, is updating, are restarting, are deploying, are compiling, \
         are building, are loading, are downloading, are installing, is back up, is back online, tests are running, almost done, \
         percent complete, is redeploying, are waiting, is waiting, is down, is up, is unreachable, temporarily, for now, as of now, \
         being redeployed, being deployed, being restarted",
        "gerade, momentan, zurzeit, derzeit, im moment, läuft noch, noch am laufen",
        "en cours, en ce moment, actuellement, est en train, sont en train, redémarre, pour l'instant",
        "en curso, en este momento, actualmente, se está, se están, está siendo, por ahora, todavía está",
        "in corso, al momento, attualmente, si sta, em andamento, no momento, atualmente, está sendo, está a ser, momenteel, \
         op dit moment, bezig met, wordt nu",
    ])
});

fn is_transient(sentence: &Sentence<'_>) -> bool {
    let share = sentence.words.len() <= 6
        && sentence.raw.contains('%')
        && ["complete", "done", "left", "at", "finished", "fertig", "terminé"]
            .iter()
            .any(|word| sentence.words.iter().any(|w| w == word));
    // "Since 2024 it is now …" and "is up to 30 % faster" have a reason or a figure and may last.
    let lasts = LASTING.occur_in(&sentence.words);
    let level =
        sentence.words.windows(2).any(|two| two == ["is", "at"]) && OF_SHARE.occur_in(&sentence.words);
    share
        || !lasts
            && (level
                || GOING_ON.occur_in(&sentence.words)
                || is_progressive(sentence)
                || ends_in_the_moment(sentence))
}

static OF_SHARE: LazyLock<Phrases> =
    LazyLock::new(|| Phrases::new(&["percent, prozent, pourcent, por ciento"]));

/// "The build is running", "is rebuilding its index": what goes on now. "Is running on web-1" says where something lives, and some
/// verbs say how things are in this form, too.
fn is_progressive(sentence: &Sentence<'_>) -> bool {
    const OF_STATE: [&str; 12] = [
        "missing",
        "using",
        "lacking",
        "owing",
        "containing",
        "existing",
        "listening",
        "serving",
        "following",
        "working",
        "living",
        "depending",
    ];
    const OF_PLACE: [&str; 8] = ["on", "in", "at", "with", "as", "under", "behind", "from"];
    let goes_on = |three: &[String]| {
        let [be, doing, rest @ ..] = three else { return false };
        let be = matches!(be.as_str(), "is" | "are" | "i'm" | "we're");
        let doing = doing.ends_with("ing") && doing.len() > 5 && !OF_STATE.contains(&doing.as_str());
        be && doing && !rest.first().is_some_and(|next| OF_PLACE.contains(&next.as_str()))
    };
    (0..sentence.words.len()).any(|at| goes_on(&sentence.words[at..sentence.words.len().min(at + 3)]))
}

/// "builds again", "just went offline", "started, ETA 8 minutes".
fn ends_in_the_moment(sentence: &Sentence<'_>) -> bool {
    const LAST: [&str; 12] = [
        "again",
        "now",
        "soon",
        "shortly",
        "already",
        "wieder",
        "jetzt",
        "bald",
        "maintenant",
        "bientôt",
        "ahora",
        "pronto",
    ];
    let words = &sentence.words;
    words.last().is_some_and(|word| LAST.contains(&word.as_str())) || MOMENTS.occur_in(words)
}

static MOMENTS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "this morning, this afternoon, this evening, tonight, yesterday, tomorrow, gestern, morgen früh, hier soir, demain, ayer, mañana, \
         eta, just went, just came, just started, just finished, just got, has reached, have reached, went offline, \
         came back, since the last check, so far, right away, in a moment, any minute, gleich, soeben, vient de, acaba de",
    ])
});

/// A reason, a rule or a habit: what has one is said for later.
static LASTING: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "because, since, due to, caused, root cause, always, never, must, whenever, every time, unless, prefers, prefer, decided, \
         weil, immer, nie, muss, wenn, verursacht, parce, toujours, jamais, chaque, porque, siempre, nunca, cada vez, perché, sempre, \
         mai, omdat, altijd, nooit, debido, dû, fixed, helps, if, when, while, so that, after, makes, each, every",
    ])
});

/// Words that begin a report of what was just done.
static DONE_HEADS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "done, finished, completed, complete, successfully, updated, added, deployed, implemented, saved, stored, pushed, committed, \
         created, removed, installed, applied, task complete, task completed, all done, all tests pass, all tests passed, tests pass, \
         all tasks, ran, consolidated, edited, refactored, renamed, merged",
        "fertig, erledigt, abgeschlossen, aufgabe abgeschlossen, aufgabe erledigt, terminé, fini, tâche terminée, c'est fait, \
         listo, hecho, tarea completada, terminado, completado, fatto, completato, compito completato, feito, concluído, klaar, gedaan",
    ])
});

static DONE: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "has been applied, has been implemented, have been implemented, has been added, have been added, has been updated, \
         have been updated, has been completed, have been completed, has been fixed, have been fixed, has been created, \
         have been created, have been applied, has been deployed, has been merged, have been made, has been made, has been pushed, \
         has been saved, has been stored, has been restarted, has been renamed, is in place, are in place, is complete, are complete, \
         is done, are done, are finished, is finished, all green, sind grün, working as expected, works as expected, now compiles, now works, now passes, \
         tests pass, all tests pass, finished without, ran successfully, completed successfully",
        "wurde angepasst, wurde geändert, wurde aktualisiert, ist abgeschlossen, ist fertig, wurde hinzugefügt, wurde behoben",
        "a été modifié, a été ajouté, a été mis à jour, est terminé, est terminée, ha sido actualizado, ha sido añadido, \
         está terminado, está listo, è stato aggiornato, foi atualizado, is bijgewerkt, is toegevoegd",
    ])
});

fn is_done(sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words;
    let reports = DONE_HEADS.begin(words) || DONE.occur_in(words) || is_headed_by_a_past(words);
    reports && !LASTING.occur_in(words) && !names_a_version(sentence)
}

/// "Recalled …", "Rewrote …": somebody left themselves out. Some of these forms head a statement.
fn is_headed_by_a_past(words: &[String]) -> bool {
    const OF_STATE: [&str; 16] = [
        "decided",
        "agreed",
        "based",
        "located",
        "owned",
        "limited",
        "required",
        "allowed",
        "planned",
        "speed",
        "shared",
        "needed",
        "supported",
        "united",
        "trusted",
        "preferred",
    ];
    const IRREGULAR: [&str; 8] = ["rewrote", "ran", "wrote", "sent", "built", "found", "took", "went"];
    words.first().is_some_and(|head| {
        IRREGULAR.contains(&head.as_str())
            || head.ends_with("ed") && head.len() > 4 && !OF_STATE.contains(&head.as_str())
    })
}

/// "Support has been removed in version 3" is for later.
fn names_a_version(sentence: &Sentence<'_>) -> bool {
    const OF_RELEASES: [&str; 5] = ["version", "release", "versión", "versione", "versão"];
    sentence.has_number() && sentence.words.iter().any(|word| OF_RELEASES.contains(&word.as_str()))
}

/// The speaker is the subject.
static SELF: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "time to, will run, will check, schaue, prüfe, suche, lese, öffne, teste, mache, i, i'm, i'll, i've, i'd, let me, let's, let us, allow me, we'll, we're, we are, going to, trying to, about to, my",
        "ich, lass mich, lassen sie mich, lass uns, je, j'ai, j'avais, laisse-moi, laissez-moi, je vais, on va",
        "voy, vamos, he, estoy, déjame, déjeme, permíteme, reviso, busco, abro, miro, compruebo, verifico, leo, ejecuto, acabo",
        "sto, vado, ho, fammi, lasciami, controllo, cerco, vou, estou, deixa-me, deixe-me, verifico, ik, laat me, laten we",
    ])
});

/// What a person says of themselves and means to last.
static OF_ONESELF: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "i prefer, i like, i dislike, i hate, i always, i never, i usually, i live, i use, i work, i own, i don't want, i don't like, \
         my name, my team, my company, my time, my timezone, my office, my email, my manager, my preferred, my server",
        "ich bevorzuge, ich mag, ich will keine, ich möchte keine, ich wohne, ich arbeite, ich nutze, ich verwende, je préfère, \
         je n'aime, j'habite, je travaille, j'utilise",
    ])
});

/// Work that is under way when it heads a sentence without a verb: "Checking …", "Step 3: updating …".
fn is_progress(sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words;
    let speaks = SELF.begin(words) && !OF_ONESELF.begin(words);
    speaks || STEPS.begin(words) || is_headed_by_work(sentence)
}

static STEPS: LazyLock<Phrases> =
    LazyLock::new(|| Phrases::new(&["step, schritt, étape, paso, passo, stap, moving on"]));

fn is_headed_by_work(sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words;
    let Some(head) = words.first() else { return false };
    let works = head.ends_with("ing") && head.len() > 5 && head.chars().all(char::is_alphabetic);
    // "billing depends on …": a word that only looks like work, with a verb after it.
    let third_person = |word: &String| word.ends_with('s') && VERBS.contain(word);
    let stated = || FINITE.occur_in(&words[1..]) || words[1..].iter().any(third_person) || has_past(words);
    works && (trails_off(sentence.raw) || !stated())
}

/// "Upgrading … wiped …": a past form that no article makes an attribute.
fn has_past(words: &[String]) -> bool {
    const ARTICLES: [&str; 9] = ["the", "a", "an", "its", "all", "this", "my", "your", "any"];
    let past =
        |two: &[String]| two[1].ends_with("ed") && two[1].len() > 4 && !ARTICLES.contains(&two[0].as_str());
    words.windows(2).any(past)
}

fn trails_off(raw: &str) -> bool {
    let end = raw.trim_end();
    end.ends_with("...") || end.ends_with('…')
}

/// Verbs whose subject a phrase like "Restarting the gateway" can be.
static FINITE: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "is, are, was, were, has, have, leads, leaves, causes, caused, breaks, broke, fails, failed, fixed, fixes, helps, helped, takes, \
         took, makes, made, requires, required, needs, needed, works, worked, loses, lost, drops, dropped, stops, stopped, prevents, \
         prevented, solved, solves, corrupts, triggers, triggered, resets, deletes, changes, changed, means, avoids, avoided, costs, \
         must, should, can, cannot, will, may, does, did, happens, resulted, results, gives, gave, uses, keeps, kept, doubles, doubled, \
         reduces, reduced, improves, improved, locks, blocks, blocked, hides, clears, cleared, removes, removed, resolved, resolves",
    ])
});

/// Subjects that stand for the person one works for.
static USERS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "the user, user, users persona, user's personality, der nutzer, der benutzer, die nutzerin, l'utilisateur, el usuario, l'utente, \
         o usuário, de gebruiker",
    ])
});

static TRAITS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "passionate, interested, interest, curious, friendly, experienced, skilled, frustrated, happy, technical, tech-savvy, \
         detail-oriented, developer, engineer, professional, person, individual, enthusiast, learn, learning, innovation, efficiency, \
         efficient, efficiently, communication, communicates, clean code, quickly, problems, technology, programming, seems, appears, \
         likely, someone, cares, quality, appreciates, thoroughness, stressed, sounds, polite, creative, ambitious, busy, motivated, enjoys, loves, values, clearly, working on",
        "versiert, interessiert, freundlich, erfahren, neugierig, technisch, passionné, passionnée, curieux, intéressé, expérimenté, \
         apasionado, curioso, interesado, amable, appassionato, interessato, curioso, apaixonado, geïnteresseerd",
    ])
});

static PROFILE_WORDS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "user profile, user persona, persona, nutzerprofil, profil utilisateur, perfil del usuario",
    ])
});

fn is_a_profile(sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words;
    let about = USERS.begin(words)
        && (TRAITS.occur_in(words) || words.iter().take(4).any(|word| SEEMING.contains(&word.as_str())));
    let particular = sentence.has_number() || sentence.raw.contains(['`', '/', '_']);
    PROFILE_WORDS.begin(words) || about && !particular && !PREFERENCES.occur_in(words)
}

/// How somebody seems. What they are or do may be a fact.
const SEEMING: [&str; 12] = [
    "has",
    "seems",
    "appears",
    "sounds",
    "comes",
    "tends",
    "looks",
    "feels",
    "enjoys",
    "loves",
    "appreciates",
    "cares",
];

static PREFERENCES: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "prefers, wants, needs, dislikes, always, never, asked that, expects, bevorzugt, möchte, préfère, veut, prefiere, quiere, preferisce, \
         vuole, prefere, quer, wil",
    ])
});

static CHATTER: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "thanks for, thank you, thanks to you, thanks again, to me, on my side, on my end, for me, have you back, there you, there we, \
         fingers crossed, let's roll, great question, good question, hope this helps, hope that helps, feel free, let me know, happy to help, glad to help, \
         good luck, have a nice, have a great, have a good, to meet you, nice to meet, you're welcome, no problem, no worries, sounds good, makes sense, good catch, \
         great point, good point, nice work, well done, getting closer, your patience, that is helpful, doing well, nice to see, \
         any questions, anything else, one moment, give me a, hang on, almost there, of what i found, what i found, can i help",
        "viel erfolg, gern geschehen, viel spaß, schönen tag, bonne journée, bon courage, de rien, avec plaisir, n'hésitez pas, \
         de nada, buena suerte, con gusto, no dudes, prego, buona fortuna, di niente, boa sorte, graag gedaan, succes ermee",
    ])
});

fn is_chatter(sentence: &Sentence<'_>) -> bool {
    let words = &sentence.words;
    CHATTER.occur_in(words) || leads_in(sentence)
}

/// Somebody in the room is spoken to. What lasts is said of things and of people by name; in an aside ("before you upgrade") a "you" may be
/// anybody.
fn speaks_to_somebody(sentence: &Sentence<'_>) -> bool {
    const YOU: [&str; 18] = [
        "you", "your", "you're", "you'll", "you've", "you'd", "yours", "du", "dich", "dir", "dein", "deine",
        "vous", "votre", "tu", "te", "usted", "você",
    ];
    let spoken = |word: &String| YOU.contains(&word.as_str());
    let at = sentence.words.iter().position(spoken);
    at.is_some_and(|at| at < 4 || !sentence.names_a_thing())
}

/// "Here is the updated file:": what it leads to is elsewhere.
fn leads_in(sentence: &Sentence<'_>) -> bool {
    let ends = sentence.raw.trim_end().ends_with(':');
    let here = sentence.words.first().is_some_and(|word| {
        matches!(word.as_str(), "here" | "here's" | "below" | "hier" | "voici" | "aquí" | "ecco")
    });
    here || ends && sentence.words.len() <= 12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_of_the_moment_are_told_from_statements() {
        for (text, expected) in [
            ("Should I go on?", Some(Act::Question)),
            ("Let me check the logs.", Some(Act::Progress)),
            ("Checking the logs...", Some(Act::Progress)),
            ("Restarting the gateway clears its cache.", None),
            ("The gateway is restarting.", Some(Act::Transient)),
            ("The gateway is running on web-1.", None),
            ("The fix has been applied.", Some(Act::Done)),
            ("Support for XML has been removed in version 3.", None),
            ("I prefer tabs.", None),
            ("The user is passionate about technology.", Some(Act::Profile)),
            ("The user prefers dark mode.", None),
            ("The user asked me to fix it.", Some(Act::Restated)),
            ("You are a helpful assistant.", Some(Act::Boot)),
            ("Memory use grows by 30 MB a day.", None),
            ("Saved to memory.", Some(Act::AboutMemory)),
            ("No new features go into the old portal.", None),
        ] {
            assert_eq!(act_of(&Sentence::new(text)), expected, "{text}");
        }
    }
}
