import { fitPrompt, promptTurns } from '../text/index.js';
/** Lists side by side as rows; lists of another length than the prompts are an error that names them. */
export function promptRows(prompts, columns) {
    const { ids, references, labels, rows, images, videos } = columns;
    for (const [name, list] of Object.entries({ ids, references, labels, rows, images, videos })) {
        if (list && list.length !== prompts.length)
            throw new RangeError(`${name} has ${list.length} entries for ${prompts.length} prompts; give one for each`);
    }
    return prompts.map((prompt, i) => ({
        prompt,
        ...(ids ? { id: ids[i] } : {}),
        ...(rows ? { row: rows[i] } : {}),
        reference: references?.[i],
        label: labels?.[i],
        images: images?.[i],
        videos: videos?.[i],
    }));
}
export async function encodePrompt(row, options) {
    const { prompt, label, reference } = row;
    if ((row.images?.length ?? 0) > 0 || (row.videos?.length ?? 0) > 0)
        throw new RangeError('images and videos need a vision-language model and its processor, and the models here read text alone');
    const { tokenizer, limit, promptTruncation: side, chatTemplate } = options;
    const turns = prompt instanceof Int32Array ? prompt : promptTurns(prompt, tokenizer, chatTemplate);
    const fitted = await fitPrompt(turns, { tokenizer, limit, side });
    return {
        group: row.id ?? options.group,
        ids: fitted.ids,
        messages: typeof turns === 'string' || turns instanceof Int32Array ? undefined : turns,
        label,
        reference,
        row: row.row ?? {},
        cutTokens: fitted.kind === 'fits' ? fitted.cut : 0,
        tooLong: fitted.kind === 'too-long',
    };
}
//# sourceMappingURL=prompts.js.map