/** `tokenizer.ggml.token_type`: what each token is. */
export const tokenTypes = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

/** What fills the rows of an embedding that have no token. */
export const paddingToken = (id: number): string => `[PAD${id}]`
