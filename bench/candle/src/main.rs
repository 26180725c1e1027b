//! Embeds texts with candle for as long as its input lasts, in the words `bench/src/memory/peers/embedder.py` describes.
//!
//! `candle-peer MODEL_FOLDER`. The threads are rayon's: `RAYON_NUM_THREADS`. Says `ready`, then answers every line with a line.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use serde_json::{Value, json};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{PaddingParams, Tokenizer, TruncationParams};

/// Tokens a text is cut after, for everybody.
const WINDOW: usize = 256;

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).context("usage: candle-peer MODEL_FOLDER")?;
    let embedder = Embedder::open(Path::new(&folder))?;
    embedder.embed(&["warm up".to_owned()])?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&embedder, &serde_json::from_str(&line?)?)?)?;
        out.flush()?;
    }
    Ok(())
}

fn answer(embedder: &Embedder, job: &Value) -> Result<Value> {
    let texts: Vec<String> = serde_json::from_value(job["texts"].clone())?;
    let seconds = job["seconds"].as_f64().context("for how many seconds?")?;
    let first = embedder.embed(&texts)?.swap_remove(0);
    let (clock, processor, mut count) = (Instant::now(), processor_time(), 0);
    while clock.elapsed().as_secs_f64() < seconds {
        embedder.embed(&texts)?;
        count += texts.len();
    }
    let per = |time: Duration| count as f64 / time.as_secs_f64();
    let (clock, processor) = (clock.elapsed(), processor_time() - processor);
    Ok(json!({"texts_per_s": per(clock), "texts_per_cpu_s": per(processor), "first": first}))
}

struct Embedder {
    model: BertModel,
    tokenizer: Tokenizer,
}

impl Embedder {
    fn open(folder: &Path) -> Result<Embedder> {
        let weights = std::fs::read(folder.join("model.safetensors"))?;
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        Ok(Embedder {
            model: BertModel::load(weights, &config()?)?,
            tokenizer: tokenizer(&folder.join("vocab.txt"))?,
        })
    }

    /// The mean of the tokens' vectors, of length one.
    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let encoded = self.tokenizer.encode_batch(texts.to_vec(), true).map_err(anyhow::Error::msg)?;
        let shape = (encoded.len(), encoded.first().map_or(0, |text| text.get_ids().len()));
        let laid = |of: fn(&tokenizers::Encoding) -> &[u32]| {
            let numbers: Vec<u32> = encoded.iter().flat_map(|text| of(text).to_vec()).collect();
            Tensor::from_vec(numbers, shape, &Device::Cpu)
        };
        let (ids, mask) = (laid(|text| text.get_ids())?, laid(|text| text.get_attention_mask())?);
        let hidden = self.model.forward(&ids, &ids.zeros_like()?, Some(&mask))?;
        let weights = mask.to_dtype(DType::F32)?.unsqueeze(2)?;
        let mean = hidden.broadcast_mul(&weights)?.sum(1)?.broadcast_div(&weights.sum(1)?)?;
        let length = mean.sqr()?.sum_keepdim(1)?.sqrt()?;
        Ok(mean.broadcast_div(&length)?.to_vec2()?)
    }
}

/// As all-MiniLM-L6-v2 describes itself.
fn config() -> Result<Config> {
    Ok(serde_json::from_value(json!({
        "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
        "intermediate_size": 1536, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "max_position_embeddings": 512,
        "type_vocab_size": 2, "initializer_range": 0.02, "layer_norm_eps": 1e-12, "pad_token_id": 0,
        "position_embedding_type": "absolute", "use_cache": true, "model_type": "bert"
    }))?)
}

fn tokenizer(vocabulary: &Path) -> Result<Tokenizer> {
    let path = vocabulary.to_str().context("the path of the vocabulary is no text")?;
    let words = WordPiece::from_file(path).build().map_err(anyhow::Error::msg)?;
    let mut tokenizer = Tokenizer::new(words);
    let special = |token: &str| {
        let id = tokenizer.token_to_id(token).with_context(|| format!("the vocabulary has no {token}"))?;
        Ok::<_, anyhow::Error>((token.to_owned(), id))
    };
    let ends = BertProcessing::new(special("[SEP]")?, special("[CLS]")?);
    tokenizer.with_normalizer(Some(BertNormalizer::default())).map_err(anyhow::Error::msg)?;
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(ends));
    tokenizer.with_padding(Some(PaddingParams::default()));
    let cut = TruncationParams { max_length: WINDOW, ..TruncationParams::default() };
    tokenizer.with_truncation(Some(cut)).map_err(anyhow::Error::msg)?;
    Ok(tokenizer)
}

/// Of all threads of this process.
fn processor_time() -> Duration {
    let it = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(it.tv_sec.unsigned_abs(), u32::try_from(it.tv_nsec).unwrap_or(0))
}
