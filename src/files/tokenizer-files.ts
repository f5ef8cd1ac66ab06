/** What the tokenizer of a model directory consists of. */
export const tokenizerFiles = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.jinja',
  'chat_template.json',
  'additional_chat_templates',
  'vocab.json',
  'vocab.txt',
  'merges.txt',
  'tokenizer.model',
]
