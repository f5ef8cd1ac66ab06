/** The model of a byte-level BPE tokenizer, as `tokenizer.json` has it. */
export function bpeModel(given: {
  readonly vocab: Readonly<Record<string, number>>
  readonly merges: readonly unknown[]
  /** Words of the vocabulary are one token even if no merges lead to them. */
  readonly ignoreMerges: boolean
}) {
  return {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    ignore_merges: given.ignoreMerges,
    vocab: given.vocab,
    merges: given.merges,
  }
}
