//! Forgetting for ever, and showing that it was done.

use serde_json::json;

use crate::life::BACKUP;
use crate::place::{Place, holds};

const RARE: &str = "The xylophonist of the Wolverhampton office approves every firewall change.";

#[test]
fn what_is_forgotten_is_nowhere_and_that_can_be_shown() {
    for place in Place::both_with_the_model() {
        let id = place.add(RARE, &["--tag", "quokka"]);
        place.add(BACKUP, &[]);
        place.memory(&["consolidate"]).ok();
        assert_eq!(place.found("who approves firewall changes", &["--top", "1"]), [RARE]);
        let not_yet = place.memory(&["--json", "prove-forgotten", &id]).ends(1).json();
        assert_eq!(not_yet["holds"], false, "{not_yet}");

        place.memory(&["forget", &id]).ends(2).says("HF-MEM-012").says(RARE);
        let would = place.json(&["forget", &id, "--dry-run"]);
        assert_eq!((&would["forgotten"], &would["dry_run"]), (&json!([id]), &json!(true)));
        assert_eq!(place.json(&["show", &id])["standing"], "durable", "nothing is forgotten without a yes");

        assert_eq!(place.json(&["forget", &id, "--yes", "--actor", "ana"])["forgotten"], json!([id]));
        let proof = place.json(&["prove-forgotten", &id]);
        assert_eq!(proof["holds"], true, "{proof}");
        assert!(proof["looks"].as_object().unwrap().len() >= 5);
        place.memory(&["prove-forgotten", &id]).ok().shows("is forgotten");
        let shown = place.json(&["show", &id]);
        assert_eq!((&shown["standing"], &shown["memory"]), (&json!("forgotten"), &json!(null)));
        assert!(!place.found("xylophonist Wolverhampton firewall", &[]).contains(&RARE.to_owned()));
        // Said again, it is forgotten still.
        place.memory(&["forget", &id, "--yes"]).ok();
        place.memory(&["forget", "mem-2020-01-01-001", "--yes"]).ends(1).says("HF-MEM-002");
        let home = place.closed();
        for needle in ["xylophonist", "wolverhampton", "quokka"] {
            assert_eq!(holds(home.path(), needle), None, "{needle}");
        }
    }
}
