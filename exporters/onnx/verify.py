def main(folder, expected):
    sys.path.insert(0, folder)
    try:
        import engine
    except ImportError as error:
        missing(error)
    run, inputs = engine.load(os.path.join(folder, "onnx", "model.onnx"))
    verify(run, inputs, expected, engine.STACK, folder)


main(*sys.argv[1:])
