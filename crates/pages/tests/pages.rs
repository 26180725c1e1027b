//! What holds for every page, whatever is in its view.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod markup;
mod samples;

use std::collections::BTreeSet;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use holdfast_pages::*;
use markup::{Tag, balanced, tags};
use samples::{Sample, all};

/// Every tag our pages are made of. One that is not here was not written by us.
const TAGS: &[&str] = &[
    "html",
    "head",
    "meta",
    "title",
    "link",
    "script",
    "body",
    "a",
    "header",
    "nav",
    "ul",
    "ol",
    "li",
    "span",
    "b",
    "main",
    "p",
    "div",
    "section",
    "h1",
    "h2",
    "h3",
    "details",
    "summary",
    "form",
    "input",
    "label",
    "select",
    "option",
    "button",
    "fieldset",
    "legend",
    "small",
    "svg",
    "path",
    "circle",
    "rect",
    "text",
    "g",
    "dl",
    "dt",
    "dd",
    "bdi",
    "time",
    "code",
    "kbd",
    "pre",
    "br",
    "dialog",
    "noscript",
    "article",
    "figure",
    "figcaption",
    "output",
    "blockquote",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
];

/// Calls the check with every sample, and says which one it was.
fn each(check: impl Fn(&Sample, &[Tag]) -> Result<(), String>) {
    for sample in all() {
        let tags = tags(&sample.html).unwrap_or_else(|e| panic!("{}: {e}", sample.name));
        check(&sample, &tags).unwrap_or_else(|e| panic!("{}: {e}", sample.name));
    }
}

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

#[test]
fn no_text_of_a_view_becomes_markup() {
    each(|_, tags| {
        balanced(tags)?;
        for tag in tags {
            expect(TAGS.contains(&tag.name.as_str()), || format!("<{}> is not ours", tag.name))?;
            for (name, _) in &tag.attributes {
                expect(!name.starts_with("on") && name != "style", || format!("{name} on <{}>", tag.name))?;
            }
        }
        Ok(())
    });
}

#[test]
fn no_page_has_a_script_or_a_style_inside_it() {
    each(|_, tags| {
        let scripts: Vec<&Tag> = tags.iter().filter(|tag| tag.name == "script" && !tag.closes).collect();
        expect(scripts.len() == 1 && scripts[0].text.is_empty(), || "a script inside".into())?;
        let ours = assets().iter().any(|asset| Some(asset.path.as_str()) == scripts[0].get("src"));
        expect(ours && scripts[0].get("type") == Some("module"), || "a script that is not ours".into())
    });
}

// shows: GTW-076
#[test]
fn everything_a_page_leads_to_or_loads_is_of_its_own_origin() {
    each(|_, tags| {
        for tag in tags {
            for name in ["href", "src", "action"] {
                let Some(value) = tag.get(name) else { continue };
                let ours = value.starts_with('#') || (value.starts_with('/') && !value.starts_with("//"));
                expect(ours && !value.contains('\\'), || format!("{name} leads to {value}"))?;
            }
        }
        Ok(())
    });
    for asset in assets() {
        let text = std::str::from_utf8(asset.bytes).unwrap();
        // The only addresses are the names of XML's own vocabulary.
        let text = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http:") && !text.contains("https:") && !text.contains("//www"),
            "{}",
            asset.path
        );
        assert!(!text.contains("@import") && !text.contains("import "), "{}", asset.path);
    }
}

#[test]
fn every_page_has_one_heading_one_main_part_a_title_and_a_language() {
    each(|_, tags| {
        let count = |name: &str| tags.iter().filter(|tag| tag.name == name && !tag.closes).count();
        for name in ["h1", "main", "title", "html"] {
            expect(count(name) == 1, || format!("{} of <{name}>", count(name)))?;
        }
        let of = |name: &str| tags.iter().find(|tag| tag.name == name).unwrap();
        expect(of("html").get("lang") == Some("en"), || "no language".into())?;
        expect(of("title").text.len() > " · Holdfast".len(), || "no title".into())?;
        let ids: Vec<&str> = tags.iter().filter_map(|tag| tag.get("id")).collect();
        let distinct: BTreeSet<&str> = ids.iter().copied().collect();
        expect(ids.len() == distinct.len(), || format!("an id twice in {ids:?}"))
    });
}

#[test]
fn every_field_has_a_label_and_every_reference_its_element() {
    each(|_, tags| {
        let ids: BTreeSet<&str> = tags.iter().filter_map(|tag| tag.get("id")).collect();
        for tag in tags {
            for name in ["aria-labelledby", "data-copy-of"] {
                if let Some(id) = tag.get(name) {
                    expect(ids.contains(id), || format!("{name} names {id}, which is not there"))?;
                }
            }
        }
        let mut labels = 0usize;
        for tag in tags {
            match (tag.name.as_str(), tag.closes) {
                ("label", false) => labels += 1,
                ("label", true) => labels -= 1,
                ("input" | "select", false) if tag.get("type") != Some("hidden") => {
                    expect(labels > 0, || format!("{tag:?} has no label"))?;
                }
                _ => {}
            }
        }
        Ok(())
    });
}

#[test]
fn every_form_that_changes_something_carries_what_shows_it_is_ours() {
    each(|sample, tags| {
        let mut inside: Option<&Tag> = None;
        let mut carries = false;
        for tag in tags {
            if tag.name == "form" && !tag.closes {
                (inside, carries) = (Some(tag), false);
            }
            carries |=
                tag.name == "input" && tag.get("name") == Some("csrf") && tag.get("type") == Some("hidden");
            if tag.name == "form" && tag.closes {
                let posts = inside.is_some_and(|form| form.get("method") == Some("post"));
                expect(!posts || carries, || format!("{}: {inside:?}", sample.name))?;
            }
        }
        Ok(())
    });
}

#[test]
fn whoever_only_looks_is_offered_nothing_that_acts() {
    let frame = samples::viewer(Place::Hosts);
    let pages = [
        host(&frame, &samples::host_view()),
        episode(&frame, &samples::episode_waiting()),
        ask(&frame, &samples::ask_view()),
        memory_entry(&frame, &samples::memory_entry_view()),
        audit(&frame, &samples::audit_view()),
        settings(&frame, &Settings::People(samples::people_view())),
        settings(&frame, &Settings::Tokens(samples::tokens_view())),
        settings(&frame, &Settings::Notices(samples::notices_view())),
    ];
    for page in pages {
        let tags = tags(&page).unwrap();
        let posts: Vec<&str> = tags
            .iter()
            .filter(|tag| tag.get("method") == Some("post"))
            .filter_map(|tag| tag.get("action"))
            .collect();
        assert_eq!(posts, ["/auth/logout"]);
        assert!(tags.iter().all(|tag| tag.get("data-confirm").is_none()));
    }
    let owner = tags(&host(&samples::frame(Place::Hosts), &samples::host_view())).unwrap();
    assert!(owner.iter().any(|tag| tag.get("action") == Some("/hosts/web-1/rollback")));
}

#[test]
fn fragments_are_parts_of_their_page_to_the_byte() {
    use samples as s;
    let frame = s::frame(Place::Overview);
    let pages: Vec<(String, Vec<Fragment>)> = vec![
        (overview(&frame, &s::overview_view()), overview_fragments(&frame, &s::overview_view())),
        (overview(&frame, &Overview::default()), overview_fragments(&frame, &Overview::default())),
        (hosts(&frame, &Hosts::default()), hosts_fragments(&frame, &Hosts::default())),
        (host(&frame, &s::host_view()), host_fragments(&frame, &s::host_view())),
        (episode(&frame, &s::episode_view()), episode_fragments(&frame, &s::episode_view())),
        (episode(&frame, &s::episode_kept()), episode_fragments(&frame, &s::episode_kept())),
        (inbox(&frame, &s::inbox_view()), inbox_fragments(&frame, &s::inbox_view())),
        (ask(&frame, &s::ask_view()), ask_fragments(&frame, &s::ask_view())),
        (audit(&frame, &s::audit_view()), audit_fragments(&frame, &s::audit_view())),
    ];
    for (page, fragments) in pages {
        assert!(fragments.len() > 3);
        for Fragment { id, html } in fragments {
            let tags = tags(&html).unwrap();
            assert_eq!(tags[0].get("id"), Some(id));
            balanced(&tags).unwrap();
            assert!(page.contains(&html), "{id} is another on its page");
        }
    }
}

#[test]
fn a_piece_that_went_away_leaves_its_place_to_be_filled_again() {
    let ids = |fragments: Vec<Fragment>| fragments.into_iter().map(|it| it.id).collect::<Vec<_>>();
    let frame = samples::frame(Place::Overview);
    let full = ids(overview_fragments(&frame, &samples::overview_view()));
    assert_eq!(full, ids(overview_fragments(&frame, &Overview::default())));
    let bare = Host { open: None, anomalies: vec![], failed: vec![], ..samples::host_view() };
    assert_eq!(ids(host_fragments(&frame, &samples::host_view())), ids(host_fragments(&frame, &bare)));
}

#[test]
fn the_same_view_gives_the_same_bytes() {
    let once: Vec<String> = all().into_iter().map(|sample| sample.html).collect();
    let again: Vec<String> = all().into_iter().map(|sample| sample.html).collect();
    assert!(once == again);
}

#[test]
fn what_moves_by_the_second_does_not_change_a_fragment_by_the_second() {
    let view = samples::overview_view();
    let mut frame = samples::frame(Place::Overview);
    let before = overview_fragments(&frame, &view);
    frame.now = samples::later(1);
    let after = overview_fragments(&frame, &view);
    let changed: Vec<&str> = before.iter().zip(&after).filter(|(a, b)| a != b).map(|(a, _)| a.id).collect();
    // Only the words of the lease, which a server that hands in its time in steps does not send either.
    assert_eq!(changed, ["trials"]);
}

fn packed(parts: &[&[u8]]) -> usize {
    let size = |part: &&[u8]| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(part).unwrap();
        gzip.finish().unwrap().len()
    };
    parts.iter().map(size).sum()
}

#[test]
fn the_first_load_of_any_page_is_below_60_kb() {
    let assets: Vec<&[u8]> = assets().iter().map(|asset| asset.bytes).collect();
    let sizes = all()
        .into_iter()
        .map(|sample| (packed(&[&[sample.html.as_bytes()], assets.as_slice()].concat()), sample.name));
    let (largest, name) = sizes.max().unwrap();
    assert!(largest < 60_000, "{name}: {largest} bytes");
}

#[test]
fn the_largest_page_there_can_be_is_below_60_kb_too() {
    let line = samples::audit_view().entries;
    let many = Audit { entries: line.iter().cycle().take(200).cloned().collect(), ..samples::audit_view() };
    let one = samples::host_view();
    let figures: Vec<Figure> = one.figures.iter().cycle().take(12).cloned().collect();
    let rich = Host { figures, episodes: one.episodes.iter().cycle().take(60).cloned().collect(), ..one };
    let assets: Vec<&[u8]> = assets().iter().map(|asset| asset.bytes).collect();
    for page in [audit(&samples::frame(Place::Audit), &many), host(&samples::frame(Place::Hosts), &rich)] {
        let size = packed(&[&[page.as_bytes()], assets.as_slice()].concat());
        assert!(size < 60_000, "{size} bytes");
    }
}

#[test]
fn a_view_without_end_makes_no_page_without_end() {
    let need = samples::overview_view().needs[0].clone();
    let endless = Overview {
        needs: vec![Need { sentence: samples::endless(), ..need }; 20_000],
        ..Overview::default()
    };
    let page = overview(&samples::frame(Place::Overview), &endless);
    assert!(page.contains("20,000 things need you."));
    assert!(page.len() < 200_000, "{} bytes", page.len());
}

#[test]
fn the_module_is_small_and_asks_for_passkeys_itself() {
    let module = assets().iter().find(|asset| asset.path.ends_with(".js")).unwrap();
    let text = std::str::from_utf8(module.bytes).unwrap();
    assert!(text.len() < 14 * 1024, "{} bytes", text.len());
    assert!(
        text.contains("navigator.credentials") && !text.contains("eval(") && !text.contains("document.write")
    );
    // Fragments, which our own renderer made, are the only text that is read as markup.
    assert_eq!(text.matches("innerHTML").count(), 1);
}

#[test]
fn the_paths_of_assets_change_with_their_bytes() {
    let paths: BTreeSet<&str> = assets().iter().map(|asset| asset.path.as_str()).collect();
    assert_eq!(paths.len(), assets().len());
    for asset in assets() {
        let digest = blake3::hash(asset.bytes).to_hex();
        assert!(asset.path.starts_with(&format!("/assets/holdfast-{}.", &digest[..8])), "{}", asset.path);
    }
}

#[test]
fn what_is_not_known_is_never_shown_as_good() {
    let frame = samples::quiet(Place::Overview);
    let page = overview(&frame, &Overview { unknown: Some("No daemon runs.".into()), ..Overview::default() });
    let answer = page.split("id=\"answer\"").nth(1).unwrap().split("</div>").next().unwrap();
    assert!(answer.contains("Nobody can say at the moment.") && !answer.contains("kelp"), "{answer}");
    let mut view = samples::ask_view();
    view.line.state = AskState::of("dancing");
    let page = ask(&frame, &view);
    assert!(page.contains("unknown") && !page.contains("data-confirm"));
    let never = Verification { verdict: Verdict::Never, ..samples::verification() };
    let page = audit(&frame, &Audit { verification: never, ..samples::audit_view() });
    assert!(page.contains("not checked yet") && !page.contains("> verified"));
}

#[test]
fn what_is_shown_once_is_in_no_debug_form() {
    let once = Once { said: "The token.".into(), values: vec!["shown-once".into()] };
    assert!(!format!("{once:?}").contains("shown-once"));
}

#[test]
fn a_host_says_what_keeps_it_from_going_on_and_offers_what_helps() {
    let frame = samples::frame(Place::Hosts);
    let plain = Host { drifted: false, breaker_open: false, open: None, ..samples::host_view() };
    let cases = [
        (Host { drifted: true, ..plain.clone() }, "not what it was left as", "/hosts/web-1/accept"),
        (Host { breaker_open: true, ..plain.clone() }, "The breaker is open", "/hosts/web-1/reset"),
        (
            Host { open: Some(samples::a_trial()), ..plain.clone() },
            "undone by itself in",
            "/hosts/web-1/rollback",
        ),
    ];
    for (view, said, order) in cases {
        let page = host(&frame, &view);
        assert!(page.contains(said) && page.contains(&format!("action=\"{order}\"")), "{said}");
        let without = host(&frame, &plain);
        assert!(!without.contains(said) && !without.contains(order), "{said}");
    }
}
