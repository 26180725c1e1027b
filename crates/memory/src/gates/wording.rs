//! The two gates that go by wording alone: what does not last, and what nobody is sure of.

use std::sync::LazyLock;

use super::phrase::Phrases;

/// English, German, French, Spanish, Italian, Portuguese, Dutch.
static TEMPORAL: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "today, this time, just now, right now",
        "heute, diesmal, gerade eben, jetzt gerade, in diesem moment, soeben",
        "aujourd'hui, cette fois, à l'instant, en ce moment, tout de suite",
        "hoy, esta vez, ahora mismo, en este momento, justo ahora",
        "oggi, questa volta, proprio ora, in questo momento, proprio adesso",
        "hoje, desta vez, agora mesmo, neste momento",
        "vandaag, deze keer, op dit moment, zojuist, nu net",
    ])
});

static SPECULATIVE: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "might be, probably, i think, maybe, perhaps, i guess, i suppose, i assume, i believe, not sure, could be that",
        "vielleicht, wahrscheinlich, vermutlich, möglicherweise, ich glaube, ich denke, ich vermute, könnte sein, wohl",
        "peut-être, probablement, sans doute, je pense, je crois, je suppose, il se peut",
        "quizás, quizá, tal vez, probablemente, creo que, pienso que, supongo, puede que, a lo mejor",
        "forse, probabilmente, penso che, credo che, magari, può darsi",
        "talvez, provavelmente, acho que, creio que, suponho",
        "misschien, waarschijnlijk, vermoedelijk, ik denk, ik geloof, ik vermoed",
    ])
});

pub(crate) fn is_temporal(words: &[String]) -> bool {
    TEMPORAL.occur_in(words)
}

pub(crate) fn is_speculative(words: &[String]) -> bool {
    SPECULATIVE.occur_in(words)
}
