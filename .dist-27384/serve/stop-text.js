export async function stopText(tokenizer, { finishReason, stopReason, responseIds }, { includeStop, skipSpecialTokens }) {
    if (!includeStop || finishReason !== 'stop' || !tokenizer)
        return '';
    if (typeof stopReason === 'string')
        return stopReason;
    return tokenizer.decode(responseIds.subarray(-1), { skipSpecialTokens });
}
//# sourceMappingURL=stop-text.js.map