/** The contract's example of a catalog file; a fresh copy each time. */
export const exampleDocument = () => ({
  replace: true,
  providers: [
    {
      id: 'acme',
      name: 'Acme',
      wire: 'chat-completions',
      base_url: 'http://127.0.0.1:9001/v1',
      api_key_env: 'ACME_API_KEY',
      zdr: true,
      data_collection: 'deny',
    },
  ],
  models: [
    {
      id: 'acme/large-1',
      name: 'Large 1',
      vendor: 'acme',
      context_length: 128000,
      max_output_tokens: 8192,
      input_modalities: ['text'],
      supported_parameters: ['tools', 'response_format'],
      reasoning: false,
      open_weights: false,
      list_price: { prompt: '2.00', completion: '8.00' },
      offers: [{ provider: 'acme', upstream_model: 'large-1', cost: { prompt: '1.80', completion: '7.00' } }],
    },
  ],
})
