//! Several threads over one list: each takes the next item, and the answers come back in the order of the list.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does `work` on every item. Each thread begins with a tool of its own (`begin`). The first error in the order of the
/// list is the one returned, so that it does not depend on who was faster; the others stop at their next item.
pub(crate) fn share<T: Sync, Tool, Answer: Send, E: Send>(
    items: &[T],
    threads: NonZeroUsize,
    begin: impl Fn() -> Result<Tool, E> + Sync,
    work: impl Fn(&mut Tool, &T) -> Result<Answer, E> + Sync,
) -> Result<Vec<Answer>, E> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let answers: Mutex<Vec<(usize, Result<Answer, E>)>> = Mutex::new(Vec::with_capacity(items.len()));
    let one = || {
        let mut own = Vec::new();
        let mut tool = None;
        while !stop.load(Ordering::Relaxed) {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(n) else { break };
            let answer = match tool.take().map_or_else(&begin, Ok) {
                Ok(mut own) => {
                    let answer = work(&mut own, item);
                    tool = Some(own);
                    answer
                }
                Err(e) => Err(e),
            };
            stop.fetch_or(answer.is_err(), Ordering::Relaxed);
            own.push((n, answer));
        }
        answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(own);
    };
    std::thread::scope(|scope| {
        // A list of a few is not worth a thread each.
        for _ in 1..threads.get().min(items.len() / 4) {
            scope.spawn(one);
        }
        one();
    });
    let mut all = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.sort_by_key(|(n, _)| *n);
    all.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_list_and_the_first_error_wins() {
        let items: Vec<u32> = (0..1000).collect();
        for threads in [1, 2, 9].map(|n| NonZeroUsize::new(n).unwrap()) {
            let doubled = share(&items, threads, || Ok::<_, String>(()), |(), n| Ok(n * 2));
            assert_eq!(doubled.unwrap(), items.iter().map(|n| n * 2).collect::<Vec<_>>());
            let refuses = |n: &u32| if n % 100 == 99 { Err(format!("{n}")) } else { Ok(()) };
            assert_eq!(share(&items[..150], threads, || Ok(()), |(), n| refuses(n)).unwrap_err(), "99");
            assert_eq!(
                share(&items, threads, || Err::<(), _>("no tool"), |(), _| Ok(())).unwrap_err(),
                "no tool"
            );
        }
    }
}
