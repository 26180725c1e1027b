//! Words, keys and what comes with them.

use proptest::prelude::*;

use super::*;

#[test]
fn each_key_says_its_own_words() {
    let said = |role: Role| {
        Word::ALL.into_iter().filter(|word| role.admits(*word)).map(Word::as_str).collect::<Vec<_>>()
    };
    assert_eq!(said(Role::Observe), ["ping", "collect", "state"]);
    assert_eq!(said(Role::Rescue), ["ping", "state", "list", "restore"]);
    assert_eq!(said(Role::Act).len(), Word::ALL.len());
    // Who may only look does not keep a trial alive.
    let renews = Ask::State { full: false, renew: Some("ep_1".parse().unwrap()), about: None };
    assert_eq!(Role::ALL.map(|role| renews.is_for(role)), [false, true, false]);
}

// shows: STW-399
#[test]
fn a_word_is_a_word_and_nothing_around_it() {
    for word in Word::ALL {
        assert_eq!(word.as_str().parse(), Ok(word));
    }
    for bad in [
        "",
        " ping",
        "ping ",
        "ping\n",
        "PING",
        "ping;id",
        "ping id",
        "ping\0",
        "$(ping)",
        "`ping`",
        "ping&&id",
        "-ping",
        "--help",
        "sh",
        "/bin/sh",
        "scp -t /",
        "../ping",
        "pïng",
        "ping\u{202e}",
        &"ping".repeat(1000),
    ] {
        assert!(bad.parse::<Word>().is_err(), "{bad:?}");
    }
}

#[test]
fn what_comes_with_a_word_is_read_strictly() {
    let good = r#"{"cancel":{"episode":"ep_1"}}"#;
    assert_eq!(
        Ask::read(Word::Cancel, good.as_bytes()),
        Ok(Ask::Cancel { episode: "ep_1".parse().unwrap() })
    );
    assert_eq!(Ask::read(Word::Ping, b" \n"), Ok(Ask::Ping {}));
    let arm = |lasts: u64, cap: u64| {
        let zero = "0".repeat(64);
        format!(
            r#"{{"arm":{{"episode":"e","known_good":"{zero}","candidate":"{zero}","lasts_seconds":{lasts},"cap_seconds":{cap}}}}}"#
        )
    };
    assert!(Ask::read(Word::Arm, arm(90, 900).as_bytes()).is_ok());
    let bad: Vec<(Word, String)> = vec![
        (Word::Cancel, String::new()),
        (Word::Cancel, "{}".into()),
        (Word::Keep, good.into()),
        (Word::Cancel, good.replace("ep_1", "../ep")),
        (Word::Cancel, good.replace("ep_1", "ep 1")),
        (Word::Cancel, good.replace("ep_1", "ep\\u0000")),
        (Word::Cancel, r#"{"cancel":{"episode":"ep_1","also":1}}"#.into()),
        (Word::Cancel, r#"{"cancel":{"episode":"ep_1","episode":"ep_2"}}"#.into()),
        (Word::Cancel, format!("{good}{good}")),
        (Word::Cancel, format!("{good} x")),
        (Word::Check, r#"{"check":{"changes":[]}}"#.into()),
        (Word::Collect, r#"{"collect":{"cursor":"--help"}}"#.into()),
        (Word::Collect, r#"{"collect":{"cursor":"s=1\n"}}"#.into()),
        (Word::Arm, arm(0, 900)),
        (Word::Arm, arm(901, 900)),
        (Word::Arm, arm(90, 9_000_000)),
        (Word::Cancel, "[".repeat(ASK_MAX)),
        (Word::Cancel, format!("{good}{}", " ".repeat(ASK_MAX))),
    ];
    for (word, text) in bad {
        let text_start: String = text.chars().take(60).collect();
        assert!(
            Ask::read(word, text.as_bytes()).is_err() || text.trim_ascii() == good && word == Word::Cancel,
            "{word} {text_start}"
        );
    }
    assert!(Ask::read(Word::Cancel, b"\xff\xfe").is_err());
}

proptest! {
    // shows: STW-399
    #[test]
    fn no_bytes_make_it_panic_and_no_refusal_repeats_them_raw(bytes: Vec<u8>, word in 0..Word::ALL.len()) {
        if let Err(refused) = Ask::read(Word::ALL[word], &bytes) {
            let said = refused.to_string();
            prop_assert!(said.len() < 2000 && !said.chars().any(|c| c.is_control()), "{said:?}");
        }
    }
}
