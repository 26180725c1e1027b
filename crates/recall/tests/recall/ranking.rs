//! What is put first, and why.

use crate::shelf::{Memory, time};
use holdfast_recall::{Found, Marks, Query, Signal, Terms, rank};
use holdfast_types::Trust;

const TALK: [&str; 6] = [
    "Ann: Hey, good to see you!",
    "Bob: You too. Where did you spend your holiday in Norway?",
    "Ann: Mostly in a tent by a fjord, I loved it.",
    "Bob: That sounds cold to me.",
    "Ann: I had my warm socks.",
    "Bob: I prefer my sofa, you know.",
];

#[test]
fn an_answer_is_found_by_the_words_of_the_question_before_it() {
    let order = Memory::of(&TALK).order("Where was Ann on holiday in Norway?");
    assert_eq!(
        order[0], 30,
        "the answer, which has none of these words, before the question that has them all"
    );
}

#[test]
fn a_neighbour_that_neither_list_found_may_be_a_hit() {
    let memory = Memory::of(&TALK);
    let query = Query::of("Where was Ann on holiday in Norway?", None);
    let hits = rank(&query, &Found { lexical: &[20], vector: &[] }, &memory, &Terms::default());
    assert_eq!(hits[0].seq, 30);
}

#[test]
fn notes_that_stand_alone_lend_each_other_nothing() {
    let memory = Memory::of(&[
        "The backup of db-3 keeps 14 copies.",
        "Port 8443 on edge-1 is open for grafana.",
        "The certificate of mail-1 is renewed weekly.",
    ]);
    let hits = memory.ask("How many copies does the backup of db-3 keep?");
    assert_eq!(hits[0].seq, 10);
    for hit in &hits[1..] {
        assert_eq!(hit.parts.share(Signal::Words).millionths(), 0, "{}", hit.seq);
    }
}

#[test]
fn a_long_pause_ends_a_conversation() {
    let later = time("2023-05-08T15:00:01");
    let paused = (2..6).fold(Memory::of(&TALK), |memory, i| memory.with(i, |f| f.at = Some(later)));
    let share = |memory: &Memory| {
        let hits = memory.ask("holiday in Norway");
        hits.iter().find(|h| h.seq == 30).unwrap().parts.share(Signal::Words).millionths()
    };
    assert_eq!(share(&paused), 0);
    assert!(share(&Memory::of(&TALK)) > 0);
}

#[test]
fn another_source_ends_a_conversation_where_sources_come_in_runs() {
    let lent = |sources: [u64; 6]| {
        let memory =
            (0..6).fold(Memory::of(&TALK), |memory, i| memory.with(i, |f| f.source = Some(sources[i])));
        let hits = memory.ask("holiday in Norway");
        hits.iter().find(|h| h.seq == 30).unwrap().parts.share(Signal::Words).millionths() > 0
    };
    assert!(!lent([1, 1, 2, 2, 2, 2]), "two sessions");
    assert!(lent([1, 2, 1, 2, 1, 2]), "two speakers");
    assert!(lent([1, 2, 3, 4, 5, 6]), "an id each");
}

#[test]
fn who_is_asked_about_is_preferred_as_speaker() {
    let memory = Memory::of(&["Ann: I adore my old piano.", "Bob: I adore my old piano."]);
    assert_eq!(memory.order("What does Bob adore?")[0], 20);
    assert_eq!(memory.order("What does Ann adore?")[0], 10);
}

#[test]
fn a_tag_or_a_source_that_the_query_names_counts() {
    let memory = Memory::of(&["The limit was raised.", "The limit was raised."]);
    let memory = memory.with(1, |f| f.labels = Marks::of_all(["postgres", "ops"]));
    assert_eq!(memory.order("limit of postgres")[0], 20);
}

#[test]
fn without_labels_the_one_who_is_called_by_name_is_the_one_who_answers() {
    let memory = Memory::of(&[
        "Hey Ann, I love my piano!",
        "I love my piano!",
        "Ann, did you know I love my piano?",
        "I love my piano!",
    ]);
    let hits = memory.ask("Which instrument does Ann love?");
    for hit in hits {
        let voice = hit.parts.share(Signal::Voice).millionths();
        assert_eq!(voice > 0, matches!(hit.seq, 20 | 40), "{} {voice}", hit.seq);
    }
}

#[test]
fn a_question_for_a_time_prefers_what_tells_one() {
    let memory = Memory::of(&["The disk of db-1 failed badly.", "The disk of db-1 failed on Tuesday."]);
    assert_eq!(memory.order("When did the disk of db-1 fail?")[0], 20);
    assert_eq!(memory.order("Did the disk of db-1 fail?")[0], 10, "equal otherwise, so the smaller number");
}

#[test]
fn a_question_about_a_time_prefers_what_is_of_it() {
    let memory = Memory::of(&["The disk failed.", "The disk failed."]);
    let memory = memory.with(1, |f| f.at = Some(time("2023-08-03T12:00:00")));
    assert_eq!(memory.order("What failed in August 2023?")[0], 20);
    assert_eq!(memory.order("What failed in May 2023?")[0], 10);
}

// shows: DOC-148
// shows: DOC-100
#[test]
fn among_equals_what_was_cited_trusted_or_is_newer_comes_first_and_a_matching_word_outweighs_all_three() {
    let equal = || Memory::of(&["The limit was raised.", "The limit was raised.", "The quota is 5."]);
    assert_eq!(equal().with(1, |f| f.citations = 3).order("limit")[0], 20);
    assert_eq!(equal().with(1, |f| f.trust = Trust::Admin).order("limit")[0], 20);
    let now = time("2023-05-09T12:00:00");
    let newer = equal().with(1, |f| f.at = Some(now)).ask_at("limit", Some(now));
    assert_eq!(newer[0].seq, 20);
    let favoured = equal().with(2, |f| (f.citations, f.trust, f.at) = (u32::MAX, Trust::Admin, Some(now)));
    assert_eq!(favoured.ask_at("limit", Some(now))[2].seq, 30);
}

#[test]
fn a_thousand_citations_weigh_no_more_than_thirty_one() {
    let share = |citations| {
        let hits = Memory::of(&["The limit."]).with(0, |f| f.citations = citations).ask("limit");
        hits[0].parts.share(Signal::Citations)
    };
    assert_eq!(share(31), share(1000));
    assert!(share(1) < share(3) && share(3) < share(31));
}

#[test]
fn meaning_finds_what_words_do_not_and_an_entry_without_a_vector_is_not_lost() {
    let mut memory = Memory::of(&["The quota is 5.", "Storage space was extended.", "The quota is 6."]);
    memory.closeness = vec![Some(0.1), Some(0.7), None];
    let order = memory.order("more room on disk");
    assert_eq!(order, [20, 30, 10]);
}

#[test]
fn what_may_not_be_shown_lends_its_words_and_is_never_a_hit() {
    let memory = Memory::of(&TALK).with(1, |f| f.eligible = false);
    let order = memory.order("Where was Ann on holiday in Norway?");
    assert_eq!(order[0], 30);
    assert!(!order.contains(&20));
}

#[test]
fn an_empty_turn_of_a_conversation_comes_after_one_that_says_something() {
    let memory = Memory::of(&[
        "Ann: My piano!",
        "Bob: Nice to hear that you bought one, I like my piano very much too.",
    ]);
    assert_eq!(memory.order("piano")[0], 20);
}
