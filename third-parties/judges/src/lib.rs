//! Nothing but tests: what the journal signs and proves, judged by other people's programs.
