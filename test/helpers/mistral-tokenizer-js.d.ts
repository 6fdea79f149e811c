declare module 'mistral-tokenizer-js' {
  import type { LlamaTokenizer } from 'llama-tokenizer-js'

  const tokenizer: LlamaTokenizer
  export default tokenizer
}
