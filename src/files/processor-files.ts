/** What the processors of a vision-language model directory consist of. */
export const processorFiles = ['preprocessor_config.json', 'video_preprocessor_config.json', 'processor_config.json']
