//! What the controller's users may reach. Begin with `wanted.rs`, the list that comes of the configuration; `rules.rs` makes the packet
//! filter's rules of it, `keeper.rs` keeps them true, and `refusals.rs` has what was refused.
//!
//! | file | what |
//! |---|---|
//! | `destination.rs`, `wanted.rs` | the list: who may go where, and which setting wants it |
//! | `machine.rs`, `world.rs` | what the machine's files say, and which of them are believed |
//! | `lent.rs` | what is open for a while, that no setting names yet |
//! | `dns.rs`, `book.rs` | names and their addresses over time |
//! | `rules.rs`, `nft.rs` | the rules, and the filter that has them |
//! | `packet.rs`, `listen.rs`, `refusals.rs` | what was refused |
//! | `status.rs`, `keeper.rs` | what is told to others, and the program's turn |
//!
//! What holds: nothing is open that no setting names and root does not lend; what fails opens nothing and closes nothing; the rules outlive the program.

mod book;
mod destination;
mod dns;
mod keeper;
mod lent;
mod listen;
mod machine;
pub mod nft;
mod packet;
mod refusals;
mod rules;
mod status;
mod wanted;
mod world;

pub use book::{Book, Known, Pace};
pub use destination::{Destination, Host, Protocol};
pub use keeper::{KINDS, Keeper, resolved};
pub use lent::{Bound, LEFT, Lender, Loan, PLACES_MAX, Standing, destination};
pub use machine::{NotBound, Resolvers, Uids};
pub use refusals::Row;
pub use rules::{Rules, TABLE};
pub use status::{Lent, STALE_AFTER, Status, UserStatus};
pub use wanted::{Gap, Reachable, Told, Wanted, Who};
pub use world::{Seen, Unread, World, read_of_root};
