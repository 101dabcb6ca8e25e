package config

// hubKeys are those of `mdmhost pull`.
var hubKeys = []Key{
	{Name: "hub.endpoint", Kind: String, Hide: HideAddress, Default: "https://huggingface.co", Help: "where models are pulled from: a server with the layout of the Hugging Face Hub (environment: HF_ENDPOINT, too)"},
	{Name: "hub.connections", Kind: Int, Default: 4, Min: at(1), Max: at(64), Help: "files that are fetched at a time"},
	{Name: "hub.retries", Kind: Int, Default: 5, Min: at(0), Max: at(100), Help: "tries in a row that may fail before a pull gives up; a try that brought part of a file counts anew"},
	{Name: "hub.timeout", Kind: Float, Default: 30.0, Min: at(0), Above: true, Max: at(3600), Help: "seconds that a server may be silent"},
}
