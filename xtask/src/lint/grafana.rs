//! Dashboards of Grafana: JSON in a folder called `grafana`. Such a file is imported on machines we do not know, so
//! it names no data source of one of them, and its panels do not lie on each other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Found;

/// The first schema of the versions of Grafana we write for (11 and newer).
const SCHEMA_MIN: u64 = 39;
/// Columns of Grafana's grid.
const COLUMNS: u64 = 24;

pub(super) fn is_dashboard(path: &str) -> bool {
    path.rsplit('/').nth(1) == Some("grafana")
}

/// Silent about what does not parse: that is found elsewhere. Findings name the panel, since JSON has no lines.
pub(super) fn check(text: &str) -> Vec<Found> {
    let Ok(dashboard) = serde_json::from_str::<Value>(text) else {
        return Vec::new();
    };
    let mut told = about_the_whole(&dashboard);
    let panels: Vec<&Value> = dashboard["panels"].as_array().into_iter().flatten().collect();
    told.extend(panels.iter().flat_map(|panel| about_panel(panel)));
    told.extend(about_ids(&panels));
    told.extend(about_places(&panels));
    told.into_iter().map(|what| (1, what)).collect()
}

fn about_the_whole(dashboard: &Value) -> Vec<String> {
    let mut told = Vec::new();
    for key in ["title", "uid"] {
        if dashboard[key].as_str().is_none_or(str::is_empty) {
            told.push(format!("the dashboard has no {key}"));
        }
    }
    if dashboard["schemaVersion"].as_u64().is_none_or(|version| version < SCHEMA_MIN) {
        told.push(format!("schemaVersion is older than {SCHEMA_MIN}"));
    }
    if !dashboard["id"].is_null() {
        told.push("it has the id of one installation; leave it null".to_owned());
    }
    let variables = dashboard["templating"]["list"].as_array();
    if !variables.into_iter().flatten().any(|variable| variable["type"] == "datasource") {
        told.push("no variable lets the reader choose the data source".to_owned());
    }
    told
}

fn about_panel(panel: &Value) -> Vec<String> {
    let name = title(panel);
    let targets: Vec<&Value> = panel["targets"].as_array().into_iter().flatten().collect();
    let chosen = |value: &Value| value["datasource"]["uid"].as_str().is_some_and(|uid| uid.starts_with("${"));
    let mut told = Vec::new();
    if !targets.iter().all(|target| chosen(target)) || (!targets.is_empty() && !chosen(panel)) {
        told.push(format!("{name}: names a data source instead of the variable"));
    }
    if !targets.iter().all(|target| target["expr"].as_str().is_some_and(|expr| !expr.is_empty())) {
        told.push(format!("{name}: a target asks nothing"));
    }
    if panel["description"].as_str().is_none_or(str::is_empty) && panel["type"] != "row" {
        told.push(format!("{name}: no description says how to read it"));
    }
    told
}

fn about_ids(panels: &[&Value]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let twice = panels.iter().filter(|panel| !seen.insert(panel["id"].as_u64()) || panel["id"].is_null());
    twice.map(|panel| format!("{}: its id is missing or taken", title(panel))).collect()
}

fn about_places(panels: &[&Value]) -> Vec<String> {
    let mut told = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        match Place::of(panel) {
            None => told.push(format!("{}: has no place in the grid", title(panel))),
            Some(place) => {
                let before =
                    panels[..index].iter().filter(|other| Place::of(other).is_some_and(|o| o.meets(&place)));
                told.extend(before.map(|other| format!("{}: lies on {}", title(panel), title(other))));
            }
        }
    }
    told
}

fn title(panel: &Value) -> String {
    format!("the panel {:?}", panel["title"].as_str().unwrap_or("without a title"))
}

struct Place {
    left: u64,
    right: u64,
    top: u64,
    bottom: u64,
}

impl Place {
    /// `None` as well for one that reaches beyond the grid.
    fn of(panel: &Value) -> Option<Place> {
        let at = |key: &str| panel["gridPos"][key].as_u64().filter(|at| *at < 1_000_000);
        let (left, top) = (at("x")?, at("y")?);
        let place = Place { left, right: left + at("w")?, top, bottom: top + at("h")? };
        (place.right <= COLUMNS && place.right > left && place.bottom > top).then_some(place)
    }

    fn meets(&self, other: &Place) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn panel(id: u64, x: u64) -> Value {
        let source = json!({"type": "prometheus", "uid": "${source}"});
        json!({
            "id": id, "title": format!("P{id}"), "type": "stat", "description": "d", "datasource": source,
            "gridPos": {"x": x, "y": 0, "w": 12, "h": 4}, "targets": [{"datasource": source, "expr": "up"}],
        })
    }

    fn dashboard() -> Value {
        json!({
            "id": null, "uid": "u", "title": "t", "schemaVersion": 39,
            "templating": {"list": [{"name": "source", "type": "datasource"}]},
            "panels": [panel(1, 0), panel(2, 12)],
        })
    }

    /// What is said after the value at `pointer` was replaced.
    fn check_with(pointer: &str, value: Value, expected: &[&str]) {
        let mut dashboard = dashboard();
        *dashboard.pointer_mut(pointer).unwrap() = value;
        let told: Vec<String> = check(&dashboard.to_string()).into_iter().map(|(_, what)| what).collect();
        assert_eq!(told, expected, "{pointer}");
    }

    #[test]
    fn a_dashboard_fits_any_installation() {
        check_with("/title", json!("t"), &[]);
        check_with("/uid", json!(""), &["the dashboard has no uid"]);
        check_with("/schemaVersion", json!(38), &["schemaVersion is older than 39"]);
        check_with("/id", json!(7), &["it has the id of one installation; leave it null"]);
        check_with("/templating/list", json!([]), &["no variable lets the reader choose the data source"]);
        let told = "the panel \"P1\": names a data source instead of the variable";
        check_with("/panels/0/targets/0/datasource/uid", json!("P1809F7CD0C75ACF3"), &[told]);
        check_with("/panels/0/datasource", Value::Null, &[told]);
    }

    #[test]
    fn a_panel_can_be_read_and_lies_alone() {
        check_with(
            "/panels/0/description",
            json!(""),
            &["the panel \"P1\": no description says how to read it"],
        );
        check_with("/panels/0/targets/0/expr", json!(""), &["the panel \"P1\": a target asks nothing"]);
        check_with("/panels/1/id", json!(1), &["the panel \"P2\": its id is missing or taken"]);
        check_with("/panels/1/gridPos/x", json!(11), &["the panel \"P2\": lies on the panel \"P1\""]);
        check_with("/panels/1/gridPos/x", json!(13), &["the panel \"P2\": has no place in the grid"]);
    }

    #[test]
    fn only_json_in_its_folder_is_one() {
        assert!(is_dashboard("packaging/grafana/a.json"));
        assert!(!is_dashboard("packaging/a.json"));
        assert_eq!(check("{"), []);
    }
}
