//! What the model learned, read from its file and laid out as it is used.
//!
//! The file is read once from the beginning to the end, and its digest is taken of the very bytes that were used: there is no moment
//! at which it could be another. The matrices are packed into panels and stay in memory, 43 MB. The table of pieces, 47 MB, stays
//! in the file: a text needs a few rows of it, and a row that is read later is checked against what it was.

mod table;
mod tensors;

use std::io::{self, Read};
use std::path::Path;

use crate::aligned::Aligned;
use crate::error::ModelError;
use crate::network::PANEL;
use crate::pinned::{self, Hashing, WEIGHTS, WIDTH, WINDOW};
pub(crate) use table::Table;
use tensors::Tensors;

/// Layers of the network.
pub(crate) const LAYERS: usize = 6;
/// What a layer widens its numbers to and narrows them from.
pub(crate) const DEEP: usize = 4 * WIDTH;

/// A matrix and what is added to its product. It lies in panels of [`PANEL`] columns.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    panels: Aligned,
    bias: Aligned,
    inputs: usize,
    outputs: usize,
}

impl Linear {
    fn zeros(inputs: usize, outputs: usize) -> Linear {
        assert_eq!(outputs % PANEL, 0, "a matrix has whole panels");
        Linear { panels: Aligned::zeros(inputs * outputs), bias: Aligned::zeros(outputs), inputs, outputs }
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    pub(crate) fn panels(&self) -> usize {
        self.outputs / PANEL
    }

    /// A panel's numbers, `inputs` rows of [`PANEL`], and its bias.
    pub(crate) fn panel(&self, index: usize) -> (*const f32, *const f32) {
        assert!(index < self.panels());
        let (panels, bias) = (self.panels.as_ptr(), self.bias.as_ptr());
        (panels.wrapping_add(index * PANEL * self.inputs), bias.wrapping_add(index * PANEL))
    }

    /// Takes a matrix as the file has it, a row for each output, as the outputs from `first` on.
    fn pack(&mut self, first: usize, rows: &[f32]) {
        for (output, row) in (first..).zip(rows.chunks_exact(self.inputs)) {
            let column = output / PANEL * PANEL * self.inputs + output % PANEL;
            row.iter().enumerate().for_each(|(k, value)| self.panels.set(column + k * PANEL, *value));
        }
    }

    fn pack_bias(&mut self, first: usize, values: &[f32]) {
        (first..).zip(values).for_each(|(output, value)| self.bias.set(output, *value));
    }
}

/// What a row is multiplied with and shifted by after it was normalised.
#[derive(Clone, Debug)]
pub(crate) struct Norm {
    pub(crate) gain: Aligned,
    pub(crate) shift: Aligned,
}

impl Norm {
    fn zeros() -> Norm {
        Norm { gain: Aligned::zeros(WIDTH), shift: Aligned::zeros(WIDTH) }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// Questions, keys and values, in one.
    pub(crate) asked: Linear,
    pub(crate) heard: Linear,
    pub(crate) heard_norm: Norm,
    pub(crate) widened: Linear,
    pub(crate) narrowed: Linear,
    pub(crate) narrowed_norm: Norm,
}

impl Layer {
    fn zeros() -> Layer {
        Layer {
            asked: Linear::zeros(WIDTH, 3 * WIDTH),
            heard: Linear::zeros(WIDTH, WIDTH),
            heard_norm: Norm::zeros(),
            widened: Linear::zeros(WIDTH, DEEP),
            narrowed: Linear::zeros(DEEP, WIDTH),
            narrowed_norm: Norm::zeros(),
        }
    }
}

/// What stays in memory.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    /// What is added for the place of a token in its sequence.
    places: Vec<f32>,
    pub(crate) first_norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

impl Weights {
    /// Reads the file in a model's folder, if it is the one we know.
    pub(crate) fn open(folder: &Path) -> Result<(Weights, Table), ModelError> {
        let mut reader = Hashing::new(pinned::open_sized(folder, &WEIGHTS)?);
        let read = read(&mut reader.by_ref().take(WEIGHTS.bytes));
        let drained = reader.drain();
        let reading = |source| ModelError::Reading { path: folder.join(WEIGHTS.name), source };
        drained.map_err(reading)?;
        let file = reader.expect(folder, &WEIGHTS)?;
        let (weights, rows) = read.map_err(reading)?;
        Ok((weights, Table::new(file, rows)))
    }

    /// What is added at a place, which is below [`WINDOW`].
    pub(crate) fn place(&self, place: usize) -> &[f32] {
        &self.places[place * WIDTH..][..WIDTH]
    }
}

fn read(from: &mut impl Read) -> io::Result<(Weights, table::Rows)> {
    let mut tensors = Tensors::begin(from)?;
    let mut weights = Weights {
        places: vec![0.0; WINDOW * WIDTH],
        first_norm: Norm::zeros(),
        layers: vec![Layer::zeros(); LAYERS],
    };
    let mut rows = None;
    while let Some(tensor) = tensors.next_tensor() {
        if tensor.name == "embeddings.word_embeddings.weight" {
            rows = Some(table::Rows::scan(tensor.offset, tensors.bytes_of(&tensor))?);
        } else {
            weights.take(&tensor.name, &tensors.values_of(&tensor)?);
        }
    }
    rows.map(|rows| (weights, rows)).ok_or_else(|| tensors::malformed("there is no table of pieces"))
}

impl Weights {
    /// Puts a tensor where it belongs. Those that are not used, such as the head for another task, are passed over.
    fn take(&mut self, name: &str, values: &[f32]) {
        if let Some((layer, part)) = name.strip_prefix("encoder.layer.").and_then(|it| it.split_once('.')) {
            if let Some(layer) = layer.parse().ok().and_then(|it: usize| self.layers.get_mut(it)) {
                layer.take(part, values);
            }
            return;
        }
        match name {
            "embeddings.position_embeddings.weight" | "embeddings.token_type_embeddings.weight" => {
                self.add_places(values);
            }
            "embeddings.LayerNorm.weight" => self.first_norm.gain = values.into(),
            "embeddings.LayerNorm.bias" => self.first_norm.shift = values.into(),
            _ => {}
        }
    }

    /// The kind of a sequence is the first of two for all, so that its row goes to every place; of the places, as many as are used.
    fn add_places(&mut self, values: &[f32]) {
        let of_all = values.len() < self.places.len();
        for (at, place) in self.places.iter_mut().enumerate() {
            *place += values[if of_all { at % WIDTH } else { at }];
        }
    }
}

impl Layer {
    fn take(&mut self, part: &str, values: &[f32]) {
        match part {
            "attention.self.query.weight" => self.asked.pack(0, values),
            "attention.self.query.bias" => self.asked.pack_bias(0, values),
            "attention.self.key.weight" => self.asked.pack(WIDTH, values),
            "attention.self.key.bias" => self.asked.pack_bias(WIDTH, values),
            "attention.self.value.weight" => self.asked.pack(2 * WIDTH, values),
            "attention.self.value.bias" => self.asked.pack_bias(2 * WIDTH, values),
            "attention.output.dense.weight" => self.heard.pack(0, values),
            "attention.output.dense.bias" => self.heard.pack_bias(0, values),
            "attention.output.LayerNorm.weight" => self.heard_norm.gain = values.into(),
            "attention.output.LayerNorm.bias" => self.heard_norm.shift = values.into(),
            "intermediate.dense.weight" => self.widened.pack(0, values),
            "intermediate.dense.bias" => self.widened.pack_bias(0, values),
            "output.dense.weight" => self.narrowed.pack(0, values),
            "output.dense.bias" => self.narrowed.pack_bias(0, values),
            "output.LayerNorm.weight" => self.narrowed_norm.gain = values.into(),
            "output.LayerNorm.bias" => self.narrowed_norm.shift = values.into(),
            _ => {}
        }
    }
}
