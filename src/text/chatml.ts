/* What a tokenizer made here looks like on disk, apart from what it learned. */
import { bpeModel } from './bpe-model.js'

const PAD_TOKEN = '<|endoftext|>'
const START_TOKEN = '<|im_start|>'
export const END_TOKEN = '<|im_end|>'

/** In the order of their ids, from zero. */
export const CHAT_TOKENS = [PAD_TOKEN, START_TOKEN, END_TOKEN] as const

/** Where text is cut before merging; Qwen2's pattern. Digits stand alone, which helps small models count. */
const SPLIT_PATTERN =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/**
 * The same pattern for JavaScript, which has no `(?i:`; the long s is what case folding adds. Ten times faster than
 * asking the library to split. It only decides what is counted, so the two characters that are space to Rust or to
 * JavaScript but not to both (U+0085, U+FEFF) do no harm.
 */
export const SPLIT_REGEX =
  /'(?:[sSſ]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+/gu

/** ChatML, with tools as Hermes and Qwen write them. The generation tags tell trainers which tokens the assistant wrote. */
export const CHATML_TEMPLATE = `{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] + '\\n\\n' }}
    {%- endif %}
    {{- '# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\nYou are provided with function signatures within <tools></tools> XML tags:\\n<tools>' }}
    {%- for tool in tools %}
        {{- '\\n' + (tool | tojson) }}
    {%- endfor %}
    {{- '\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call>' + '<|im_end|>' + '\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message['role'] == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + message['content'] + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}
            {{- '<|im_end|>' + '\\n' }}
        {%- endif %}
    {%- elif message['role'] == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- generation %}
            {%- if message['tool_calls'] %}
                {{- message['content'] or '' }}
                {%- for call in message['tool_calls'] %}
                    {{- '\\n' if message['content'] or not loop.first else '' }}
                    {{- '<tool_call>\\n{"name": "' + call['function']['name'] + '", "arguments": ' + (call['function']['arguments'] | tojson) + '}\\n</tool_call>' }}
                {%- endfor %}
                {{- '<|im_end|>' }}
            {%- else %}
                {{- message['content'] + '<|im_end|>' }}
            {%- endif %}
        {%- endgeneration %}
        {{- '\\n' }}
    {%- elif not (tools and loop.first and message['role'] == 'system') %}
        {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
`

/**
 * ChatML for a tokenizer that was made for something else. Where it has no token for the end of a turn, turns end with its end of
 * sequence; a bos that it puts before every text also comes before a conversation.
 */
export function chatmlFor({ hasEnd, addsBos }: { hasEnd: boolean; addsBos: boolean }): string {
  const template = hasEnd ? CHATML_TEMPLATE : CHATML_TEMPLATE.replaceAll(`'${END_TOKEN}'`, 'eos_token')
  return addsBos ? `{{- bos_token }}\n${template}` : template
}

/** `tokenizer.json`: byte-level BPE with no normaliser, so that decoding gives back every character that was encoded. */
export function tokenizerJson(tokens: readonly string[], merges: readonly (readonly [string, string])[]): object {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: CHAT_TOKENS.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: SPLIT_PATTERN }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: bpeModel({
      vocab: Object.fromEntries([...CHAT_TOKENS, ...tokens].map((token, id) => [token, id])),
      merges,
      ignoreMerges: false,
    }),
  }
}

/** `tokenizer_config.json`, in words that transformers 4 and 5 both read. */
export const TOKENIZER_CONFIG = {
  tokenizer_class: 'PreTrainedTokenizerFast',
  bos_token: null,
  eos_token: END_TOKEN,
  pad_token: PAD_TOKEN,
  unk_token: null,
  additional_special_tokens: [START_TOKEN],
  clean_up_tokenization_spaces: false,
}
