//! How fast the journal is replayed into the index: `cargo run --release -p holdfast-store --example replay -- 1000000`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for a person who measures")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_journal::{Draft, Subject};
use holdfast_store::{EntriesProjection, Filter, Index, Order, count_by_kind, find};
use holdfast_testkit::House;

fn main() {
    let count: u64 = std::env::args().nth(1).map_or(300_000, |n| n.parse().unwrap());
    let house = House::new();
    let journal = house.open();
    let begun = Instant::now();
    for from in (0..count).step_by(5000) {
        let drafts: Vec<Draft> = (from..count.min(from + 5000)).map(|n| draft(&house, n)).collect();
        journal.append_many(&drafts).unwrap();
        house.clock.advance(Duration::from_secs(1));
    }
    println!("written: {count} entries in {:.2?}", begun.elapsed());

    let entries = Box::new(EntriesProjection::new(&house.origin));
    let path = house.state().join("index.db");
    let (index, _) = Index::open(&path, vec![entries], Arc::new(house.clock.clone())).unwrap();
    let rate = |what: &str, work: &mut dyn FnMut()| {
        let (begun, on_cpu) = (Instant::now(), on_cpu());
        work();
        let (took, busy) = (begun.elapsed(), crate::on_cpu() - on_cpu);
        let per_second = |span: Duration| count as f64 / span.as_secs_f64();
        println!("{what}: {took:.2?}, {:.0} entries/s by the clock", per_second(took));
        println!("  the writing thread: {busy:.2?} on a core, {:.0} entries/s of that", per_second(busy));
    };
    let go_on = &mut |_| ControlFlow::Continue(());
    rate("catch_up", &mut || drop(index.catch_up(&journal, go_on).unwrap()));
    rate("rebuild", &mut || drop(index.rebuild(&journal, go_on).unwrap()));

    let mut follower = index.follow(&journal);
    follower.catch_up(go_on).unwrap();
    let begun = Instant::now();
    for n in 0..1000 {
        journal.append(&draft(&house, n)).unwrap();
    }
    let appended = begun.elapsed();
    let begun = Instant::now();
    follower.catch_up(go_on).unwrap();
    println!("1,000 appends {appended:.2?}, then applied in {:.2?}", begun.elapsed());
    let mut spent = Duration::ZERO;
    for n in 0..200 {
        journal.append(&draft(&house, n)).unwrap();
        let begun = Instant::now();
        follower.catch_up(go_on).unwrap();
        spent += begun.elapsed();
    }
    println!("one new entry applied by a follower: {:.2?}", spent / 200);
    journal.append(&draft(&house, 0)).unwrap();
    let begun = Instant::now();
    index.catch_up(&journal, go_on).unwrap();
    println!("one new entry applied by catch_up: {:.2?}", begun.elapsed());

    let filters = [
        ("kind", Filter { kind: Some(kind(3).parse().unwrap()), ..Filter::default() }),
        ("room", Filter { room: Some("journal".parse().unwrap()), ..Filter::default() }),
        ("actor", Filter { actor: Some("actor-5".parse().unwrap()), ..Filter::default() }),
        ("run", Filter { run: draft(&house, 500).run, ..Filter::default() }),
    ];
    for (name, filter) in filters {
        let begun = Instant::now();
        let found = index.read(|conn| find(conn, &filter, Order::NewestFirst, 100)).unwrap();
        println!("newest 100 by {name}: {} in {:.2?}", found.len(), begun.elapsed());
    }
    let begun = Instant::now();
    let kinds = index.read(|conn| count_by_kind(conn, &Filter::default())).unwrap();
    println!("counts of {} kinds: {:.2?}", kinds.len(), begun.elapsed());
    println!("index.db: {} bytes an entry", std::fs::metadata(&path).unwrap().len() / count);
}

/// How long this thread has run. On a machine with other work the clock alone says little.
fn on_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

fn kind(n: u64) -> String {
    format!("journal.test_{}.noted", n % 40)
}

/// A mixture: forty kinds, two hundred actors; half are about one of fifty agents, a third belong to a run.
fn draft(house: &House, n: u64) -> Draft {
    let id = |prefix: &str, n: u64| format!("{prefix}_01arz3ndektsv4rrff{:08}", n);
    Draft {
        kind: kind(n * 7).parse().unwrap(),
        actor: format!("actor-{}", n % 200).parse().unwrap(),
        subject: n.is_multiple_of(2).then(|| Subject::Agent(id("agt", n % 50).parse().unwrap())),
        run: n.is_multiple_of(3).then(|| id("run", n / 1000).parse().unwrap()),
        ..house.note(n)
    }
}
