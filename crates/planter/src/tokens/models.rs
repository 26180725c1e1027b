//! Makers and hosts of models.

use super::{Token, token};

pub(super) const TOKENS: &[Token] = &[
    token("openai_legacy", &["OPENAI_API_KEY"], "sk-«b62:20»T3BlbkFJ«b62:20»"),
    token("openai_project", &["OPENAI_API_KEY", "OPENAI_KEY"], "sk-proj-«id:74»T3BlbkFJ«id:74»"),
    token("openai_service_account", &["OPENAI_API_KEY"], "sk-svcacct-«id:74»T3BlbkFJ«id:74»"),
    token("anthropic_api", &["ANTHROPIC_API_KEY", "CLAUDE_API_KEY"], "sk-ant-api03-«id:93»AA"),
    token("anthropic_admin", &["ANTHROPIC_ADMIN_KEY"], "sk-ant-admin01-«id:93»AA"),
    token("groq", &["GROQ_API_KEY"], "gsk_«b62:52»"),
    token("replicate", &["REPLICATE_API_TOKEN"], "r8_«b62:37»"),
    token("hugging_face", &["HF_TOKEN", "HUGGINGFACE_TOKEN"], "hf_«abc:34»"),
    token("perplexity", &["PERPLEXITY_API_KEY", "PPLX_API_KEY"], "pplx-«b62:48»"),
    token("xai", &["XAI_API_KEY"], "xai-«b62:80»"),
    token("openrouter", &["OPENROUTER_API_KEY"], "sk-or-v1-«hex:64»"),
    token("cohere", &["COHERE_API_KEY", "CO_API_KEY"], "«b62:40»"),
    token("mistral", &["MISTRAL_API_KEY"], "«b62:32»"),
    token("deepseek", &["DEEPSEEK_API_KEY"], "sk-«hex:32»"),
    token("elevenlabs", &["ELEVENLABS_API_KEY", "XI_API_KEY"], "sk_«hex:48»"),
    token("langsmith", &["LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"], "lsv2_pt_«hex:32»_«hex:10»"),
    token("pinecone", &["PINECONE_API_KEY"], "pcsk_«b62:5-6»_«b62:63»"),
    token("wandb", &["WANDB_API_KEY"], "«hex:40»"),
];
